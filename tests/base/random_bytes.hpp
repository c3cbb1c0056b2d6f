// Contents for files and chunks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace dovetail::test {

inline std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t start) {
  // Eight at a time: tests are not optimised, and a sanitizer makes each number dearer still.
  std::vector<std::uint64_t> words((count + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
  std::ranges::generate(words, std::mt19937_64(start));
  std::vector<std::byte> bytes(count);
  std::ranges::copy(std::as_bytes(std::span(words)).first(count), bytes.begin());
  return bytes;
}

}  // namespace dovetail::test
