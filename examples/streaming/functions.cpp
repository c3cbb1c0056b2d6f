#include "functions.hpp"

#include <cstddef>

namespace streaming {
namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;

}  // namespace

void fill(std::span<Element> elements, std::uint64_t number) noexcept {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = (number + i) * golden;
  }
}

void apply(std::span<const Element> from, std::span<Element> to, int stage, int work) noexcept {
  const std::uint64_t added = golden * (2 * static_cast<std::uint64_t>(stage) + 1);
  const Element* source = from.data();
  for (int round = 0; round < work; ++round) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      std::uint64_t x = source[i] + added;
      x ^= x << 13U;
      x ^= x >> 7U;
      x ^= x << 17U;
      to[i] = x;
    }
    source = to.data();
  }
}

std::uint64_t checksum(std::span<const Element> elements, std::uint64_t seed) noexcept {
  std::uint64_t sum = 0;
  std::uint64_t place = golden * (seed + 1);
  for (const Element element : elements) {
    sum += element ^ place;
    place += golden;
  }
  return sum;
}

}  // namespace streaming
