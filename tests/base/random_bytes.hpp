// Contents for files and chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace dovetail::test {

inline std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t start) {
  std::vector<std::byte> bytes(count);
  std::mt19937_64 random(start);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random());
  }
  return bytes;
}

}  // namespace dovetail::test
