#include "hash.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace heat {
namespace {

constexpr std::uint64_t odd_multiplier = 0xd6e8feb86659fd93;

// For a given state this is a bijection of the word (and the other way round), hence the promise about single words.
std::uint64_t absorb(std::uint64_t state, std::uint64_t word) noexcept {
  return std::rotl((state ^ word) * odd_multiplier, 29);
}

std::uint64_t word_at(const std::byte* place) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, place, sizeof word);
  return word;
}

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes) noexcept {
  // Four independent lanes, because one multiplication has to wait for the one before it.
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
  const std::byte* place = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 32; left -= 32, place += 32) {
    lanes[0] = absorb(lanes[0], word_at(place));
    lanes[1] = absorb(lanes[1], word_at(place + 8));
    lanes[2] = absorb(lanes[2], word_at(place + 16));
    lanes[3] = absorb(lanes[3], word_at(place + 24));
  }
  std::uint64_t result = bytes.size();
  for (const std::uint64_t lane : lanes) {
    result = absorb(result, lane);
  }
  while (left > 0) {
    const std::size_t count = left < 8 ? left : 8;
    std::uint64_t word = 0;
    std::memcpy(&word, place, count);
    result = absorb(result, word);
    place += count;
    left -= count;
  }
  result ^= result >> 32;
  result *= odd_multiplier;
  return result ^ (result >> 29);
}

}  // namespace heat
