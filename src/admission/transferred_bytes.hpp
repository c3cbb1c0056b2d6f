// What the kernel counts of a thread. Where it does not say, nothing is known, and nothing fails.
#pragma once

#include <cstdint>
#include <optional>

namespace dovetail::admission {

/// Bytes that the calling thread has passed through system calls so far, whichever library made them. Costs a few microseconds.
std::optional<std::uint64_t> transferred_bytes() noexcept;

}  // namespace dovetail::admission
