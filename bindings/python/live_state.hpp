// What a program that runs tells `dovetail top`: its tasks by type, and the devices that they are admitted to.
#pragma once

namespace dovetail::python {

/// From the first call on, a thread of this process answers those who ask at a socket of the kernel's own names, which goes when the process does,
/// however it ends. It needs no interpreter, and sleeps until somebody asks. Only the user of the process, and root, get an answer: JSON text
///
///     {"seconds", "workers", "types": [{"label", "kind", "made", "running", "completed", "failed"}], "admission"}
///
/// with `seconds` since the first call, and `admission` as `admission_report` has it. A process that gets no socket or thread runs without. So does the child of a fork, until
/// it starts a runtime of its own.
void tell_who_asks();

/// A runtime of this process has so many workers more, or, below 0, fewer.
void add_workers(int count) noexcept;

}  // namespace dovetail::python
