// A piece of an array that a task compresses before the program asks for it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/claim.hpp"
#include "base/memory_share.hpp"
#include "base/overlap.hpp"
#include "compression/layout.hpp"

namespace dovetail::compression {

/// Of all chunks together. Times in nanoseconds.
struct Statistics {
  /// It is told of compressing by tasks, and of waiting for it. It must outlive this.
  explicit Statistics(base::Overlap& told) noexcept : overlap(told) {}

  base::Overlap& overlap;
  std::atomic<std::uint64_t> chunks_by_tasks = 0;
  std::atomic<std::uint64_t> chunks_by_program = 0;
  std::atomic<std::uint64_t> time = 0;    ///< Of tasks.
  std::atomic<std::uint64_t> waited = 0;  ///< For chunks that tasks had begun.
  /// Called when a task has ended one, by that task. Set before the first.
  std::function<void()> chunk_ended;

  /// Sets all counts to zero. Not while a thread counts.
  void reset() noexcept { chunks_by_tasks = chunks_by_program = time = waited = 0; }
};

/// By which chunks are told apart without being compared: of the bytes as they are given to the codec.
std::uint64_t key_of(std::span<const std::byte> source, unsigned level);

/// One that a box covers wholly. Thread-safe, save for `reserve`.
class Chunk {
 public:
  /// `number`: its place among the chunks of the array.
  Chunk(Statistics& statistics, std::shared_ptr<const Box> box, Coordinates number);

  /// Bytes that it takes besides its box: what is to be compressed, and the result.
  std::size_t working_bytes() const noexcept { return 2 * box_->layout->chunk_bytes(); }
  /// Memory for that. Before any thread can compress it.
  void reserve(base::MemoryShare share) { share_ = std::move(share); }
  /// Compresses it, unless a thread has begun to.
  void compress() noexcept;
  /// Whether it has become, or becomes here, what the codec makes of `source`. Waits for a thread that compresses it.
  bool is_made_of(std::span<const std::byte> source);
  /// Unless a thread has begun to, it will not be compressed.
  void give_up() noexcept;
  /// The same; returns when no thread reads its box any more.
  void abandon() noexcept;
  /// No task is to be waited for. In the child of a fork no thread goes on with what a thread of the parent has begun.
  bool ended() const noexcept { return claim_.ended() || claim_.is_of_parent(); }

  /// Once `is_made_of` has said so.
  const std::vector<std::byte>& result() const noexcept { return result_; }
  const Coordinates& number() const noexcept { return number_; }
  std::uint64_t key() const noexcept { return key_; }

 private:
  void gather();
  bool source_is(std::span<const std::byte> source) const noexcept;
  void make_result() noexcept;

  Statistics& statistics_;
  base::Claim claim_;
  // Of the thread that has the claim; of all when it has ended.
  std::shared_ptr<const Box> box_;
  std::vector<std::byte> source_;
  std::vector<std::byte> result_;
  base::MemoryShare share_;
  const Coordinates number_;
  const std::uint64_t key_;
};

/// The chunks that a box covers wholly, by rows.
std::vector<std::shared_ptr<Chunk>> chunks_of(Statistics& statistics, const std::shared_ptr<const Box>& box);

/// Has tasks compress chunks, as many as there is memory for. Returns how many. One for which no task can be made is given up.
std::size_t compress_in_tasks(std::span<const std::shared_ptr<Chunk>> chunks, base::MemoryShare& memory,
                              const std::string& label);

}  // namespace dovetail::compression
