// What is done for the blocks that a cache of blocks wants and gives up: by the helper in a program, or by an advisor outside of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "prefetch/advice_table.hpp"
#include "prefetch/asking.hpp"

namespace dovetail::prefetching {

/// Takes what waits and does nothing for it.
inline void discard_advice(AdvisedFile& file) noexcept {
  constexpr std::uint32_t most = 256;  // others can write into the memory
  Range range{};
  for (std::uint32_t count = 0; count < most; ++count) {
    if (!file.blocks.take_wanted(range) && !file.blocks.take_released(range)) {
      return;
    }
  }
}

/// `system`: as in asking.hpp, and it has `dont_need(range)`, which returns false where the file must be left. Only blocks none of whose pages were cached are
/// ever released: all others were brought in by others, and where the kernel cannot say, none is.
template <class System>
void give_advice(AdvisedFile& file, std::uint64_t block_bytes, const System& system) noexcept {
  // Others can write into the memory: there is an end to what they may ask for.
  constexpr std::uint32_t most_blocks = 4096;
  constexpr std::uint64_t most_bytes = std::uint64_t{8} << 30;
  const std::uint64_t size = file.size.load(std::memory_order_relaxed);
  if (block_bytes == 0 || size == 0) {
    discard_advice(file);
    return;
  }
  if (file.blocks.wants() && file.looked.exchange(1, std::memory_order_relaxed) == 0 &&
      is_left_as_cached(system, size, file.given_up)) {
    discard_advice(file);
    return;
  }
  std::uint32_t left = most_blocks;
  std::uint64_t bytes_left = most_bytes;
  Range range{};
  while (left != 0 && file.blocks.take_wanted(range)) {
    --left;
    range.end = std::min(range.end, size);
    for (std::uint64_t at = range.offset; at < range.end && left != 0; --left) {
      const std::uint64_t number = at / block_bytes;
      const Range block{at, std::min(range.end, (number + 1) * block_bytes)};
      at = block.end;
      if (block.end - block.offset > bytes_left) {
        return;
      }
      bytes_left -= block.end - block.offset;
      const std::int64_t pages = system.cached_pages(block);
      if (are_all(pages, block)) {
        continue;
      }
      if (!system.will_need(block)) {
        return;
      }
      if (pages == 0) {
        file.blocks.brought(number);
      }
    }
  }
  while (left != 0 && file.blocks.take_released(range)) {
    --left;
    range.end = std::min(range.end, size);
    if (range.offset < range.end) {
      if (!system.dont_need(range)) {
        return;
      }
      file.blocks.count_released(range.end - range.offset);
    }
  }
}

}  // namespace dovetail::prefetching
