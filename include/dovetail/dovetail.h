/// @file
/// Dovetail from C11, and from Fortran through `bind(c)`: tasks here, storage that knows about tasks in `dovetail_files.h`
/// and `dovetail_buffers.h`, traces in `dovetail_trace.h`, all of which this file includes. What is said here holds for them
/// too. In C++ use `dovetail.hpp` instead, of which this is a translation: what is said there holds here.
///
/// Results. A function that can fail returns 0 or a non-negative count, or a negative errno; `dovetail_error_message`
/// and its kin then tell the whole story. Output parameters are written only on success. No C++ exception crosses
/// this boundary.
///
/// Contexts. `any`: every thread, inside tasks, `onready` functions and polling functions too. `wait`: the same
/// without `onready` and polling functions. `task`: the body of a task (also one spawned from C++). `outside`: any
/// place but the body of a task. Calls of `task` and `outside` in the wrong context give -EPERM; waiting in `onready`
/// or a polling function would stop a worker, and must not be done.
///
/// Suspending. Where a comment says that a call may suspend, it does so inside a task: the core runs other tasks, and
/// the task may go on in another operating-system thread unless it is `tied`. Do not hold a mutex, a pointer to a
/// thread-local or a value of `errno` across such a call. On a thread that runs no task the same call blocks the
/// thread.
///
/// Common errors, not repeated below: -EINVAL for a null pointer or a value out of range, -ENOMEM, -EPERM for the
/// wrong context.
///
/// Structures that begin with `size` may grow in later versions: clear them, set `size` to `sizeof` of the structure,
/// then the fields that matter; a field left at zero has its default. A `size` that is too small is refused with
/// -EINVAL, a larger one from a later version with -E2BIG if it sets something that this version does not know.
///
/// Fortran: only integers of fixed width, `size_t`, `double`, pointers and structures of those occur; the named
/// constants are `int32_t` values. Character arguments end with `c_null_char`. `dovetail.f90` next to this file
/// declares it all.
#ifndef DOVETAIL_DOVETAIL_H
#define DOVETAIL_DOVETAIL_H

#include <stddef.h>
#include <stdint.h>

#include "dovetail/dovetail_buffers.h"
#include "dovetail/dovetail_files.h"
#include "dovetail/dovetail_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Version of this header; compare with `dovetail_library_version`.
enum {
  DOVETAIL_VERSION_MAJOR = 0,  ///< Changes when programs must be rewritten.
  DOVETAIL_VERSION_MINOR = 1,  ///< Changes when something is added.
  DOVETAIL_VERSION_PATCH = 0   ///< Changes when something is repaired.
};

/// Version of the library in use: major * 10000 + minor * 100 + patch. Context: any. Suspends: no. Errors: none.
int32_t dovetail_library_version(void);

/// @name Opaque objects
/// @{
typedef struct dovetail_runtime dovetail_runtime;  ///< Workers and their tasks. Made by `dovetail_runtime_create`.
typedef struct dovetail_future dovetail_future;    ///< A spawned task, seen from outside of it.
typedef struct dovetail_events dovetail_events;    ///< The event count of a task. Belongs to the task.
typedef struct dovetail_handle dovetail_handle;    ///< Refers to a task so that it can be resumed.
typedef struct dovetail_polling dovetail_polling;  ///< A registered polling service.
/// @}

// Errors -------------------------------------------------------------------------------------------------------------
// Each task has its own last error, and so has each thread for what happens outside of tasks. The error of a task
// follows the task when it suspends and goes on in another thread. A successful call leaves it as it is.

/// What kind of error the last one was.
enum {
  DOVETAIL_ERROR_NONE = 0,       ///< There was none.
  DOVETAIL_ERROR_ARGUMENT = 1,   ///< An argument, option or environment variable makes no sense.
  DOVETAIL_ERROR_CONTEXT = 2,    ///< The call is not allowed where it was made.
  DOVETAIL_ERROR_IO = 3,         ///< An operation on a file failed.
  DOVETAIL_ERROR_TASK = 4,       ///< A task failed; its cause gives code, path and offset.
  DOVETAIL_ERROR_CANCELLED = 5,  ///< A task never ran: a predecessor failed, or it was cancelled. Code -ECANCELED.
  DOVETAIL_ERROR_STUCK = 6,      ///< Tasks are left that can never run; the message lists them. Code -EDEADLK.
  DOVETAIL_ERROR_MEMORY = 7,     ///< Out of memory. Code -ENOMEM.
  DOVETAIL_ERROR_SYSTEM = 8,     ///< The operating system refused something else.
  DOVETAIL_ERROR_PROGRAM = 9,    ///< Set by `dovetail_error_set`, or returned by the body of a task.
  DOVETAIL_ERROR_OTHER = 10      ///< A C++ exception without an errno. Code -ENOTRECOVERABLE.
};

/// Code of the last error: a negative errno, or 0 when there was none. Context: any. Suspends: no. Errors: none.
int32_t dovetail_error_code(void);
/// Kind of the last error, one of DOVETAIL_ERROR_NONE and so on. Context: any. Suspends: no. Errors: none.
int32_t dovetail_error_kind(void);
/// The last error in words: what failed, label of the task, file, offset, text of the errno. Never null; empty when
/// there was none. The string belongs to Dovetail and is valid until the next failing call of the same task (or
/// thread), the end of the task, or `dovetail_error_clear`. Context: any. Suspends: no. Errors: none.
const char* dovetail_error_message(void);
/// Label of the task that failed, or of the task that made the failing call. Never null; validity as
/// `dovetail_error_message`. Context: any. Suspends: no. Errors: none.
const char* dovetail_error_label(void);
/// Name of the failing operation such as "pwrite"; empty when it was not one on a file. Never null; validity as
/// `dovetail_error_message`. Context: any. Suspends: no. Errors: none.
const char* dovetail_error_operation(void);
/// Path of the file, or "descriptor N"; empty when no file was involved. Never null; validity as
/// `dovetail_error_message`. Context: any. Suspends: no. Errors: none.
const char* dovetail_error_path(void);
/// Offset in bytes of the first byte that was not transferred; -1 when no file was involved. Context: any. Suspends:
/// no. Errors: none.
int64_t dovetail_error_offset(void);
/// Bytes that were not transferred; -1 when no file was involved. Context: any. Suspends: no. Errors: none.
int64_t dovetail_error_length(void);
/// Makes `code` (a negative errno) and `message` (copied; may be null) the last error and returns `code`, so that a
/// body can say `return dovetail_error_set(-EILSEQ, "bad header")`. Context: any. Suspends: no. Errors: -EINVAL when
/// `code` is not negative.
int32_t dovetail_error_set(int32_t code, const char* message);
/// Forgets the last error. Context: any. Suspends: no. Errors: none.
void dovetail_error_clear(void);

// Runtime ------------------------------------------------------------------------------------------------------------

/// Settings of a runtime. Zero fields come from the environment variable that is named, else have the default.
typedef struct dovetail_options {
  size_t size;              ///< `sizeof(dovetail_options)`.
  int32_t workers;          ///< Compute workers. 0: `DOVETAIL_WORKERS`, else the cores this process may use.
  int32_t io_executors;     ///< Most threads for I/O tasks and blocking calls. 0: `DOVETAIL_IO_EXECUTORS`, else 64.
  const char* engine;       ///< "uring", "aio", "threads" or "auto". Null: `DOVETAIL_ENGINE`, else "auto".
  const char* trace;        ///< File for the trace at the end; must be writable. Null: `DOVETAIL_TRACE`, else none.
  size_t stack_size;        ///< Bytes of the stack that bodies of tasks run on. 0: `DOVETAIL_STACK_SIZE`, else 1 MiB.
  size_t pending_limit;     ///< Tasks not completed, above which spawning makes way for executing. 0: chosen.
  int64_t stuck_after_ms;   ///< Quiet in ms after which tasks that wait for other threads fail. 0 or less: never.
  int32_t bind_workers;     ///< Not 0: bind each worker to a core.
  int32_t reserved;         ///< Must be 0.
  int64_t report_after_ms;  ///< Quiet in ms after which it is said what waits for what. 0: 5000; negative: never.
} dovetail_options;

/// Starts a runtime. `options` is copied and may be null (all defaults). `*runtime` is the caller's until
/// `dovetail_runtime_destroy`. Context: any. Suspends: no. Errors: -EINVAL for a setting that makes no sense (the
/// message names it), -EAGAIN and others when a thread or a mapping cannot be made.
int32_t dovetail_runtime_create(const dovetail_options* options, dovetail_runtime** runtime);
/// Waits for all tasks, stops and frees the runtime; null is allowed. Failures nobody took are printed to standard
/// error. Polling services must be gone before. Context: outside. Suspends: no, blocks. Errors: -EPERM inside a task
/// (the runtime lives on).
int32_t dovetail_runtime_destroy(dovetail_runtime* runtime);
/// Blocks until all tasks of the runtime have completed. Context: outside. Suspends: no, blocks. Errors: that of the
/// first task whose failure nobody has taken (later ones stay for the next call); -EDEADLK when tasks are left that
/// can never run.
int32_t dovetail_runtime_wait(dovetail_runtime* runtime);
/// Cancels every task that has not started and asks the running ones to stop. Context: any. Suspends: no. Errors:
/// -EINVAL.
int32_t dovetail_runtime_cancel(dovetail_runtime* runtime);
/// Number of compute workers. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_runtime_workers(const dovetail_runtime* runtime);
/// Gives the settings in force, with environment and defaults applied. Set `options->size` before. The strings belong
/// to the runtime. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_runtime_options(const dovetail_runtime* runtime, dovetail_options* options);

// Accesses -----------------------------------------------------------------------------------------------------------

/// How a task uses a region.
enum {
  DOVETAIL_ACCESS_IN = 0,          ///< Reads: after earlier writers, together with other readers.
  DOVETAIL_ACCESS_OUT = 1,         ///< Overwrites: after everything earlier on the region.
  DOVETAIL_ACCESS_INOUT = 2,       ///< Reads and overwrites: ordered as DOVETAIL_ACCESS_OUT.
  DOVETAIL_ACCESS_COMMUTATIVE = 3  ///< Updates in any order but never two at once, with others of the same kind.
};

/// One use of a range of bytes in memory or in a file. Best made by the three functions below.
typedef struct dovetail_access {
  int64_t space;     ///< 0: the memory of this process; else `dovetail_file_space`.
  int64_t begin;     ///< First byte: an address, or an offset in the file.
  int64_t length;    ///< Bytes. A region of length 0 orders nothing.
  int32_t mode;      ///< DOVETAIL_ACCESS_IN and so on; a negative errno marks an access that could not be made.
  int32_t reserved;  ///< Must be 0.
} dovetail_access;

/// Use of `length` bytes of memory at `address`. Context: any. Suspends: no. Errors: a wrong mode makes a negative
/// `mode`, which spawning refuses.
dovetail_access dovetail_access_memory(int32_t mode, const void* address, size_t length);
/// Use of `length` bytes of a file from `offset`. Context: any. Suspends: no. Errors: a null file, a wrong mode or a
/// negative number makes a negative `mode`, which spawning refuses.
dovetail_access dovetail_access_file(int32_t mode, const dovetail_file* file, int64_t offset, int64_t length);
/// Use of `length` bytes from `offset` of the file that a raw descriptor leads to. Context: any. Suspends: no.
/// Errors: a descriptor that is not open makes a `mode` of -EBADF, and so on, which spawning refuses.
dovetail_access dovetail_access_descriptor(int32_t mode, int32_t descriptor, int64_t offset, int64_t length);

// Tasks --------------------------------------------------------------------------------------------------------------

/// What a failure does to the tasks that depend on the failed one.
enum {
  DOVETAIL_FAILURE_CANCELS_SUCCESSORS = 0,  ///< They do not run and fail with -ECANCELED.
  DOVETAIL_FAILURE_IGNORED = 1              ///< They run; the failure is told by `dovetail_future_get` alone.
};

/// Body of a task that cannot fail by itself.
typedef void (*dovetail_body)(void* argument);
/// Body of a task that returns a non-negative result or a negative errno, which fails the task. If that errno is the
/// one of the task's last error, the failure carries its message, path and offset too.
typedef int32_t (*dovetail_fallible_body)(void* argument);

/// Describes a task. All of it is copied by spawning, what `argument` points to only with an `argument_size`.
typedef struct dovetail_task_description {
  size_t size;                           ///< `sizeof(dovetail_task_description)`.
  dovetail_body body;                    ///< What to run; or
  dovetail_fallible_body fallible_body;  ///< this. Exactly one of the two.
  void* argument;                        ///< Given to the body, to `onready` and to `destroy`.
  size_t argument_size;             ///< Not 0: so many bytes are copied, and all three get the copy (aligned to 16).
  void (*destroy)(void* argument);  ///< Called once when the task needs its argument no more, run or not. May be null.
  void (*onready)(void* argument);  ///< Called when the accesses are free, outside of any task; must not suspend.
                                    ///< Events added in it delay the body. May be null.
  const char* label;                ///< Shown in errors, traces and reports. May be null.
  const dovetail_access* accesses;  ///< What the task and its children use. May be null when there are none.
  size_t access_count;              ///< Number of accesses.
  int32_t priority;                 ///< Ready tasks of higher priority start first. A hint.
  int32_t io;                       ///< Not 0: may block in the operating system; takes no compute worker.
  int32_t tied;                     ///< Not 0: goes on in the same operating-system thread after a pause.
  int32_t on_failure;               ///< DOVETAIL_FAILURE_CANCELS_SUCCESSORS and so on.
  int32_t retries;                  ///< How often a body that fails is run again (with the argument as it then is).
  int32_t reserved;                 ///< Must be 0.
} dovetail_task_description;

/// Spawns a task without a parent. Accesses are ordered among all tasks so spawned in the runtime. `*future` is the
/// caller's until `dovetail_future_release`; null: not wanted. On an error the argument stays the caller's and
/// `destroy` is not called. Context: wait. Suspends: may, when far more tasks are pending than can be executed.
/// Errors: -EINVAL; the errno of an access that could not be made.
int32_t dovetail_runtime_spawn(dovetail_runtime* runtime, const dovetail_task_description* description,
                               dovetail_future** future);
/// Spawns a child of the current task, with accesses ordered among those of its siblings; the rest as
/// `dovetail_runtime_spawn`. Context: task. Suspends: may, as there. Errors: -EPERM outside of a task; as there.
int32_t dovetail_task_spawn(const dovetail_task_description* description, dovetail_future** future);
/// Waits until all children of the current task have completed. Context: task. Suspends: may. Errors: -EPERM outside
/// of a task; that of the first child whose failure nobody has taken.
int32_t dovetail_task_wait(void);
/// Whether the caller is in the body of a task: 1 or 0. Context: any. Suspends: no. Errors: none.
int32_t dovetail_task_active(void);
/// Whether somebody asked the current task to stop: 1 or 0. Context: any (0 outside of a task). Suspends: no. Errors:
/// none.
int32_t dovetail_task_cancelled(void);
/// Copies the label of the current task with an ending zero into `buffer`, cut to `capacity`, and returns its whole
/// length. `buffer` may be null with a capacity of 0. Context: any (empty outside of a task). Suspends: no. Errors:
/// -EINVAL.
int64_t dovetail_task_label(char* buffer, size_t capacity);
/// Gives the events of the current task; in `onready`, of the task that is about to be ready. They belong to the task
/// and are valid until it completes. Context: task, and `onready`. Suspends: no. Errors: -EPERM elsewhere.
int32_t dovetail_task_events(dovetail_events** events);
/// Suspends the current task until `dovetail_handle_resume`; returns at once if that came since the last suspend.
/// Context: task. Suspends: may. Errors: -EPERM outside of a task; -EDEADLK when it is certain that nobody can
/// resume.
int32_t dovetail_task_suspend(void);
/// Suspends the current task for about so many nanoseconds; returns the nanoseconds really slept. Context: task.
/// Suspends: may. Errors: -EPERM outside of a task; -EINVAL for a negative duration.
int64_t dovetail_task_wait_for(int64_t nanoseconds);
/// Lets other ready tasks run first. Context: task. Suspends: may. Errors: -EPERM outside of a task.
int32_t dovetail_task_yield(void);

// Futures (several threads may use one at once, until its last release) ----------------------------------------------

/// Waits until the task has completed, failed or not. Context: wait. Suspends: may. Errors: -EDEADLK when the task
/// can never complete.
int32_t dovetail_future_wait(const dovetail_future* future);
/// Waits as `dovetail_future_wait` and tells how the task ended: the result of its fallible body (0 for the other
/// kind), or its error. The failure then counts as taken. Context: wait. Suspends: may. Errors: that of the task;
/// -ECANCELED when it never ran; -EDEADLK.
int32_t dovetail_future_get(const dovetail_future* future);
/// Whether the task has completed, failed or not: 1 or 0. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_future_ready(const dovetail_future* future);
/// Has `callback(argument)` called once, when the task has completed, failed or not: by the thread that completes it, or at once by the caller
/// if it has. Those that are there by then are called in the order of these calls; `dovetail_runtime_wait` returns after them. A callback must be short and
/// must not wait for anything; it may fulfill events, resume tasks, and call `dovetail_runtime_spawn`. The future may be released
/// before. Context: any. Suspends: no. Errors: -EINVAL, -ENOMEM; then it is not called.
int32_t dovetail_future_when_completed(const dovetail_future* future, void (*callback)(void* argument), void* argument);
/// Asks that the task does not run: one that has not started is cancelled with its successors, one that runs sees
/// `dovetail_task_cancelled`. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_future_cancel(const dovetail_future* future);
/// Adds an owner: one more `dovetail_future_release` is due. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_future_retain(dovetail_future* future);
/// Drops one owner; null is allowed. Does not wait: the task goes on. Context: any. Suspends: no. Errors: none.
void dovetail_future_release(dovetail_future* future);

// Events -------------------------------------------------------------------------------------------------------------

/// Adds `count` events: the task completes only after as many were fulfilled. Context: the body or `onready` of that
/// task, or anywhere while an event of it is outstanding. Suspends: no. Errors: -EINVAL.
int32_t dovetail_events_add(dovetail_events* events, uint32_t count);
/// Fulfills `count` events. The last may complete the task: do not use `events` afterwards. Context: any. Suspends:
/// no. Errors: -EINVAL.
int32_t dovetail_events_fulfill(dovetail_events* events, uint32_t count);
/// Fulfills one event and fails the task with `code` (a negative errno) and `message` (copied; may be null). Context:
/// any. Suspends: no. Errors: -EINVAL, and then the event is still outstanding.
int32_t dovetail_events_fail(dovetail_events* events, int32_t code, const char* message);

// Handles ------------------------------------------------------------------------------------------------------------

/// Gives a handle of the current task, the caller's until `dovetail_handle_release`. Context: task. Suspends: no.
/// Errors: -EPERM outside of a task.
int32_t dovetail_handle_current(dovetail_handle** handle);
/// Lets the task return from `dovetail_task_suspend`: the one it is in, or the next one. Twice before a suspend
/// counts once; on a completed task it does nothing. The handle stays the caller's. Context: any. Suspends: no.
/// Errors: -EINVAL.
int32_t dovetail_handle_resume(const dovetail_handle* handle);
/// Frees the handle; null is allowed. Context: any. Suspends: no. Errors: none.
void dovetail_handle_release(dovetail_handle* handle);

// Polling services ---------------------------------------------------------------------------------------------------

/// A function that asks a library what has completed and returns how many pending operations it found so. Runs
/// outside of any task, never twice at once, must not suspend, and usually calls `dovetail_events_fulfill`.
typedef size_t (*dovetail_poll)(void* argument);

/// Registers `poll`, called while something is pending at an interval between `shortest_ns` and `longest_ns` (0: the
/// defaults) that adapts to what polls find. `label` is copied and may be null; `argument` stays the caller's and
/// must outlive the service. `*polling` is the caller's until `dovetail_polling_destroy`. Context: any. Suspends: no.
/// Errors: -EINVAL.
int32_t dovetail_polling_create(dovetail_runtime* runtime, const char* label, int64_t shortest_ns, int64_t longest_ns,
                                dovetail_poll poll, void* argument, dovetail_polling** polling);
/// Waits for a running poll, unregisters and frees the service; null is allowed. Nothing may be pending and the
/// runtime must still be there. Context: any, save the polling function. Suspends: no, blocks. Errors: -EBUSY while
/// something is pending (it stays registered).
int32_t dovetail_polling_destroy(dovetail_polling* polling);
/// Says that `count` more operations are pending. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_polling_add_pending(dovetail_polling* polling, size_t count);
/// Number of operations that are pending. Context: any. Suspends: no. Errors: -EINVAL.
int64_t dovetail_polling_pending(const dovetail_polling* polling);
/// Nanoseconds between polls that are in use. Context: any. Suspends: no. Errors: -EINVAL.
int64_t dovetail_polling_interval(const dovetail_polling* polling);

#ifdef __cplusplus
}
#endif

#endif
