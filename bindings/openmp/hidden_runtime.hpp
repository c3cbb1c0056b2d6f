// The runtime behind OpenMP: one worker, which sleeps unless there is something to hand over or to end.
#pragma once

namespace dovetail::omp {

struct Call;

/// Performs a list of gathered calls (linked by `next`), and releases their tasks when each has ended. From any thread; does
/// not wait for them. Where there can be no runtime, they are performed before this returns.
void hand_over(Call* first, Call* last) noexcept;

}  // namespace dovetail::omp
