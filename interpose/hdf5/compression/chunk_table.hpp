// Chunks that are compressed by tasks before HDF5 asks for it. HDF5 filters a chunk when its cache lets go of it: in the write, in a
// later one, in a flush or a close. Then the result is looked up by what is to be compressed, byte for byte. So a result can be
// missing, and the program's thread compresses as ever, but it cannot be wrong.
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <functional>
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
struct ChunkLayout {
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
  std::size_t bytes() const noexcept { return bytes_; }
  /// A part of it, on its own from now on.
  Reservation part(std::size_t bytes) noexcept;

 private:
  explicit Reservation(std::size_t bytes) noexcept : bytes_(bytes), generation_(Background::instance().generation()) {}

  std::size_t bytes_ = 0;
  unsigned generation_ = 0;
};

/// The elements of a write, a box of the dataset, in the order of the file.
struct Box {
  std::shared_ptr<const ChunkLayout> layout;
  std::vector<hsize_t> shape;
  const std::byte* data = nullptr;
  std::unique_ptr<std::byte[]> copy;  ///< Null: `data` is the program's.
  Reservation reservation;            ///< For the copy.
};

/// One chunk that a write covers wholly.
class Chunk {
 public:
  /// `place`: its first element in the box; `number`: its place among the chunks of the dataset.
  Chunk(std::shared_ptr<const Box> box, std::vector<hsize_t> place, std::vector<hsize_t> number);

  /// What it takes besides its box: the bytes to be compressed, and the result.
  std::size_t working_bytes() const noexcept { return 2 * box_->layout->chunk_bytes(); }
  /// Memory for that. Before anybody can compress it.
  void reserve(Reservation reservation) { reservation_.emplace(std::move(reservation)); }
  /// Compresses it, unless somebody has begun to. With the lock not held, as all others here.
  void compress_in_background() noexcept;
  /// Whether it has become, or becomes here, what deflate makes of `source`. Waits for a thread that compresses it.
  bool is_made_of(std::span<const std::byte> source);
  /// Unless somebody has begun to, it will not be compressed.
  void give_up() noexcept;
  /// The same; returns when nobody reads its box any more.
  void abandon();
  /// With the lock held: no task is to be waited for.
  bool ended() const noexcept {
    // In the child of a fork, nobody goes on with what a thread of the parent has begun.
    return state_ == State::done || generation_ != Background::instance().generation();
  }
  const std::vector<std::byte>& result() const noexcept { return result_; }
  const std::vector<hsize_t>& number() const noexcept { return number_; }
  std::uint64_t key() const noexcept { return key_; }

 private:
  enum class State : std::uint8_t { waiting, running, done };

  bool begin() noexcept;
  void end(State state, std::uint64_t* count) noexcept;
  void gather();
  bool source_is(std::span<const std::byte> source) const noexcept;
  void deflate() noexcept;

  // Guarded by the lock of `Background`.
  State state_ = State::waiting;
  // Of the thread that runs it; of all when it is done.
  std::shared_ptr<const Box> box_;
  std::vector<std::byte> source_;
  std::vector<std::byte> result_;
  std::optional<Reservation> reservation_;
  const std::vector<hsize_t> place_;
  const std::vector<hsize_t> number_;
  const std::uint64_t key_;
  const unsigned generation_;
};

/// Of all files. Not thread-safe: only for who holds HDF5's lock.
class ChunkTable {
 public:
  static ChunkTable& instance();

  bool empty() const noexcept { return chunks_.empty(); }
  /// `owner` is the dataset's handle. What it has had at the same place is overwritten, and given up.
  void add(const void* owner, std::shared_ptr<Chunk> chunk);
  /// The compressed chunk that was made of `source`; null: there is none. It is in the table no longer.
  std::shared_ptr<Chunk> take(std::span<const std::byte> source, unsigned level);
  void drop(const void* owner) noexcept;
  void drop_all() noexcept;
  /// Called before a chunk is looked for, when the memory of the one before is free; nothing for none.
  void before_each(std::function<void()> call) { before_each_ = std::move(call); }

 private:
  using Place = std::pair<const void*, std::vector<hsize_t>>;
  struct Entry {
    Place place;
    std::shared_ptr<Chunk> chunk;
  };
  // Equal ones are in the order of the program.
  using Chunks = std::multimap<std::uint64_t, Entry>;

  Chunks chunks_;
  std::map<Place, Chunks::iterator> places_;
  std::function<void()> before_each_;
};

}  // namespace dovetail::hdf5
