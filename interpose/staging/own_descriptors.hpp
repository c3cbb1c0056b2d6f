// The library's own descriptors: the program neither gets the low numbers that they would take, nor closes them.
#pragma once

namespace dovetail::interpose::staged {

/// Gives it a high number, and returns that; where there is none, it keeps its own. Negative: returned as it is. Leaves errno. Any thread.
int keep_own(int descriptor) noexcept;
/// Whether it is one. Any thread, and signal handlers.
bool is_own(int descriptor) noexcept;
/// The library is about to close it.
void forget_own(int descriptor) noexcept;
/// Calls `close` for each part of a range that has none of them. The first result that is not 0, or 0.
int close_around(unsigned first, unsigned last, int (*close)(unsigned, unsigned, int), int flags) noexcept;

}  // namespace dovetail::interpose::staged
