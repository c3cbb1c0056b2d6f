/// @file
/// What the stages compute: each has a function of its own, which it applies to every element by itself. Whole numbers, so that all variants and
/// all compilers give the same bytes.
#pragma once

#include <cstdint>
#include <span>

namespace streaming {

using Element = std::uint64_t;

/// The elements that go into the first stage. `number`: that of the first one, counted over all chunks.
void fill(std::span<Element> elements, std::uint64_t number) noexcept;

/// The function of a stage, `work` times in a row. Both are of one size; they may be the same memory.
void apply(std::span<const Element> from, std::span<Element> to, int stage, int work) noexcept;

/// Differs if elements differ, or are in another order. `seed`: what else it is to depend on.
std::uint64_t checksum(std::span<const Element> elements, std::uint64_t seed) noexcept;

}  // namespace streaming
