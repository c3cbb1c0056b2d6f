// The expensive half of a fence whose other half costs nothing.
#pragma once

namespace dovetail::base {

/// Orders everything before it, in all running threads of the process, with everything after it: the partner of a compiler barrier.
/// Returns false where the kernel does not offer it.
bool process_wide_barrier() noexcept;

}  // namespace dovetail::base
