// What a program that runs tells `dovetail top`: its tasks by type, and the devices that they are admitted to.
#pragma once

namespace dovetail::python {

/// Starts a thread that answers `dovetail top`, if this process has none yet. The thread listens at an abstract socket: the kernel removes that when the process ends,
/// also after SIGKILL. The thread sleeps until a reader connects, and does not take the interpreter's lock. It answers the user of the process and root, with JSON text
///
///     {"seconds", "workers", "types": [{"label", "kind", "made", "running", "completed", "failed"}], "admission"}
///
/// with `seconds` since the first call, and `admission` as `admission_report` has it. If the process gets no socket or no thread, it runs without them, and `dovetail top` does not show it. The child
/// of a fork has no such thread until it starts a runtime of its own.
void tell_who_asks();

/// A runtime of this process has started with `count` workers, or, if that is negative, has stopped.
void add_workers(int count) noexcept;
/// The number of workers of all runtimes of this process. Any thread.
int workers_now() noexcept;

}  // namespace dovetail::python
