// Whether the calling thread is what it was when it became a worker.
#pragma once

namespace dovetail::tasking {

/// Remembers the calling thread. Called once, when it becomes a worker and before it runs any task.
void note_thread() noexcept;
/// False in the child of a `fork`, `vfork` or `clone`, and while the signal mask differs from the one that the worker began
/// with. The mask differs in a signal handler and where the task has blocked signals. No task may pause there, since a handler
/// may have interrupted anything, and a mask does not travel. (A handler installed with SA_NODEFER and an empty mask is not
/// seen.) Two system calls; changes no memory.
bool thread_is_as_noted() noexcept;

}  // namespace dovetail::tasking
