// What a thread has read and written, by the kernel's count.
#pragma once

#include <cstdint>
#include <optional>

namespace dovetail::admission {

/// Bytes that the calling thread has passed through system calls so far, whichever library made them. Nothing where the kernel
/// does not count or does not say. Costs a few microseconds.
std::optional<std::uint64_t> transferred_by_this_thread() noexcept;

}  // namespace dovetail::admission
