/// @file
/// One rank's part of the work, without messages: its two buffers, and what it computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "functions.hpp"
#include "options.hpp"
#include "place.hpp"

namespace streaming {

/// Both buffers have room for all blocks of a chunk at once. Blocks are counted from 0 within the rank. Different blocks may be computed by
/// different threads at the same time.
class Part {
 public:
  Part(const Options& options, const Place& place);

  const Place& place() const noexcept { return place_; }
  int chunks() const noexcept { return options_.chunks; }
  int blocks() const noexcept { return place_.blocks(); }
  std::size_t block_bytes() const noexcept { return options_.block_bytes; }
  int elements() const noexcept { return static_cast<int>(block_elements_); }

  /// The memory that blocks come into is this, which has room for all; the caller keeps it.
  void receive_into(std::span<Element> memory) noexcept { received_ = memory; }
  std::span<Element> received(int block) noexcept { return block_of(received_, block); }
  std::span<Element> computed(int block) noexcept { return block_of(computed_, block); }

  /// Applies the function of the stage to what was received. The result of the last stage is kept: its checksum, and all of it if there is a
  /// file for it.
  void compute(int chunk, int block) noexcept;

  /// Of all that this rank has computed, if it is of the last stage; else 0. They are added up over ranks.
  std::uint64_t checksum_of_all() const noexcept;
  /// Computes the blocks of the last stage once more, from the beginning. @returns What is wrong, or nothing.
  std::string verify() const;
  /// Writes what the last stage has computed to its places in the file. @throws std::system_error
  void write_output() const;

 private:
  std::span<Element> block_of(std::span<Element> memory, int block) const noexcept {
    return memory.subspan(static_cast<std::size_t>(block) * block_elements_, block_elements_);
  }
  /// Counted over all chunks and lanes.
  std::uint64_t number_of(int chunk, int block) const noexcept {
    return static_cast<std::uint64_t>(chunk) * static_cast<std::uint64_t>(options_.blocks) +
           static_cast<std::uint64_t>(place_.first_block + block);
  }
  /// Counted over all chunks of this rank.
  std::size_t place_of(int chunk, int block) const noexcept {
    return static_cast<std::size_t>(chunk) * static_cast<std::size_t>(blocks()) + static_cast<std::size_t>(block);
  }

  const Options options_;
  const Place place_;
  const std::size_t block_elements_;
  std::vector<Element> own_;  ///< Memory to receive into, until another one is given.
  std::span<Element> received_;
  std::vector<Element> computed_memory_;
  std::span<Element> computed_;
  std::vector<std::uint64_t> checksums_;
  std::vector<Element> output_;
};

/// Makes the file for what leaves the last stage, of its full size, if one is wanted. @throws BadInput if that cannot be done.
void prepare_output(const Options& options);

}  // namespace streaming
