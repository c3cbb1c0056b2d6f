// Which descriptors are of interest. What is not known of one is looked up when it is read: descriptors come in many ways, and some of them are
// not seen.
#pragma once

#include "descriptors.hpp"

namespace dovetail::prefetching {

/// Looks at the descriptor for the first time. Null: it is none of the files that are of interest.
Descriptor* classify(int descriptor) noexcept;

/// The descriptor if its reads are of interest, else null.
inline Descriptor* watched(int descriptor) noexcept {
  if (!active.load(std::memory_order_relaxed) || static_cast<unsigned>(descriptor) >= most_descriptors) {
    return nullptr;
  }
  Descriptor& found = descriptors[descriptor];
  const std::uint32_t state = found.state.load(std::memory_order_acquire);
  if (state == Descriptor::ignored) [[likely]] {
    return nullptr;
  }
  return state == Descriptor::unknown || state >= Descriptor::fresh ? classify(descriptor) : &found;
}

}  // namespace dovetail::prefetching
