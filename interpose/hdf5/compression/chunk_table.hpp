// Chunks that are compressed by tasks before HDF5 asks for it. HDF5 filters a chunk when its cache lets go of it: in the write, in a
// later one, in a flush or a close. Then the result is looked up by what is to be compressed, byte for byte. So a result can be
// missing, and the program's thread compresses as ever, but it cannot be wrong.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "background.hpp"
#include "compression/deflate.hpp"

namespace dovetail::hdf5 {

/// How the chunks of a dataset are stored.
struct Stored {
  std::vector<hsize_t> chunk;  ///< Elements in each dimension.
  std::size_t element = 0;     ///< Bytes.
  std::size_t shuffled = 0;    ///< Bytes that the shuffle filter takes for one element; 0: there is no such filter.
  unsigned level = 0;          ///< Of deflate.

  std::size_t chunk_bytes() const noexcept;
};

/// Memory of the budget, given back at the end. With the lock of `Background` not held.
class Reservation {
 public:
  Reservation() = default;
  /// None: the budget has not as much.
  static std::optional<Reservation> of(std::size_t bytes);
  Reservation(Reservation&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)), generation_(other.generation_) {}
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation();
  /// A part of it, on its own from now on.
  Reservation part(std::size_t bytes) noexcept;

 private:
  explicit Reservation(std::size_t bytes) noexcept : bytes_(bytes), generation_(Background::instance().generation()) {}

  std::size_t bytes_ = 0;
  unsigned generation_ = 0;
};

/// The elements of a write, a box of the dataset, in the order of the file.
struct Box {
  std::shared_ptr<const Stored> stored;
  std::vector<hsize_t> shape;
  const std::byte* data = nullptr;
  std::unique_ptr<std::byte[]> copy;  ///< Null: `data` is the program's.
  Reservation reservation;            ///< For the copy.
};

/// One chunk that a write covers wholly.
class Chunk {
 public:
  /// `place`: its first element in the box. The reservation is for what it makes.
  Chunk(std::shared_ptr<const Box> box, std::vector<hsize_t> place, Reservation reservation);

  /// Compresses it, unless somebody has begun to. With the lock not held, as all others here.
  void compress(bool in_background) noexcept;
  /// Sees to it that it has been compressed: by this thread, or by waiting for another. False in the child of a fork, if a thread of
  /// the parent had begun.
  bool finish();
  /// With the lock held: no task is to be waited for.
  bool ended() const noexcept {
    // In the child of a fork, nobody goes on with what a thread of the parent has begun.
    return state_ == State::done || generation_ != Background::instance().generation();
  }
  /// It will not be compressed; returns when nobody reads its box any more.
  void abandon();
  /// Whether it has become of `source`. After `finish`.
  bool made_of(std::span<const std::byte> source) const noexcept;
  const std::vector<std::byte>& result() const noexcept { return result_; }
  std::uint64_t key() const noexcept { return key_; }

 private:
  enum class State : std::uint8_t { waiting, running, done };

  // Guarded by the lock of `Background`.
  State state_ = State::waiting;
  // Of the thread that runs it; of all when it is done.
  std::shared_ptr<const Box> box_;
  const std::vector<hsize_t> place_;
  std::vector<std::byte> source_;
  std::vector<std::byte> result_;
  const std::uint64_t key_;
  const unsigned generation_;
  const Reservation reservation_;
};

/// Of all files. Not thread-safe: only for who holds HDF5's lock.
class ChunkTable {
 public:
  static ChunkTable& instance();

  bool empty() const noexcept { return chunks_.empty(); }
  /// `owner` is the dataset's handle.
  void add(const void* owner, std::shared_ptr<Chunk> chunk);
  /// The compressed chunk that was made of `source`; null: there is none. It is in the table no longer.
  std::shared_ptr<Chunk> take(std::span<const std::byte> source, unsigned level);
  void drop(const void* owner);
  void drop_all() { chunks_.clear(); }

 private:
  struct Entry {
    const void* owner = nullptr;
    std::shared_ptr<Chunk> chunk;
  };
  // Equal ones are in the order of the program.
  std::multimap<std::uint64_t, Entry> chunks_;
};

}  // namespace dovetail::hdf5
