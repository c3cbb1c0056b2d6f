/// @file
/// Dovetail from C11, and from Fortran through `bind(c)`: tasks here; errors, events, files, buffers, one-sided communication, locks, traces and
/// storage devices in the headers that this file includes. What is said here holds for them too. In C++ use `dovetail.hpp` instead. This file is a
/// translation of it, and what is said there holds here.
///
/// Results. A function that can fail returns 0 or a non-negative count, or a negative errno; `dovetail_error_message`
/// and its kin then tell the whole story. Output parameters are written only on success. No C++ exception crosses
/// this boundary.
///
/// Contexts. `any`: every thread, inside tasks, `onready` functions and polling functions too. `wait`: the same without `onready` and
/// polling functions. `task`: the body of a task (also one spawned from C++). `outside`: any place but the body of a task. Calls of `task`
/// and `outside` in the wrong context give -EPERM. Waiting in `onready` or a polling function would stop a worker, and must not be done.
///
/// Suspending. A call that may suspend, as its comment says, does so inside a task: the core runs other tasks. The task may then go on in another
/// operating-system thread, unless it is `tied`. Do not hold a mutex, a pointer to a thread-local or a value of `errno` across such a call. On a
/// thread that runs no task the same call blocks the thread.
///
/// Common errors, not repeated below: -EINVAL for a null pointer or a value out of range, -ENOMEM, -EPERM for the
/// wrong context.
///
/// Structures that begin with `size` may grow at their end in later versions. Write them with designated initialisers, `.size = sizeof` of
/// the structure first, and only the fields that matter. A field left at zero has its default. A `size` of an earlier version is
/// understood, and what it does not have is at its default. One that is no version's is refused with -EINVAL. One of a later version is
/// refused with -E2BIG if it sets something that this version does not know.
///
/// Fortran: only integers of fixed width, `size_t`, `double`, pointers and structures of those occur; the named constants are `int32_t`
/// values. `scripts/fortran_interface.py` writes the modules next to this file from these headers; `dovetail.f90` has them all. It reads
/// from the comments what "may be null".
#ifndef DOVETAIL_DOVETAIL_H
#define DOVETAIL_DOVETAIL_H

#include <stddef.h>
#include <stdint.h>

#include "dovetail/dovetail_admission.h"
#include "dovetail/dovetail_buffers.h"
#include "dovetail/dovetail_error.h"
#include "dovetail/dovetail_events.h"
#include "dovetail/dovetail_files.h"
#include "dovetail/dovetail_rma.h"
#include "dovetail/dovetail_synchronization.h"
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
typedef struct dovetail_space dovetail_space;      ///< A space of regions of the program's own.
/// @}

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
  int64_t report_after_ms;  ///< ms after which it is said what waits for what. 0: 5000; negative: never.
} dovetail_options;

/// Starts a runtime. `options` is copied; `options` may be null (all defaults). `*runtime` is the caller's until
/// `dovetail_runtime_destroy`. Context: any. Suspends: no. Errors: -EINVAL for a setting that makes no sense (the
/// message names it), -EAGAIN and others when a thread or a mapping cannot be made.
int32_t dovetail_runtime_create(const dovetail_options* options, dovetail_runtime** runtime);
/// Waits for all tasks, stops and frees the runtime; null is allowed. Failures that were not taken are printed to standard error. Polling
/// services must be gone before. Context: outside. Suspends: no, blocks. Errors: -EPERM inside a task (the runtime lives on).
int32_t dovetail_runtime_destroy(dovetail_runtime* runtime);
/// Blocks until all tasks of the runtime have completed. Context: outside. Suspends: no, blocks. Errors: that of the first task whose
/// failure has not been taken (later ones stay for the next call); -EDEADLK when tasks are left that can never run.
int32_t dovetail_runtime_wait(dovetail_runtime* runtime);
/// Cancels every task that has not started and asks the running ones to stop. Context: any. Suspends: no. Errors:
/// -EINVAL.
int32_t dovetail_runtime_cancel(dovetail_runtime* runtime);
/// Number of compute workers. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_runtime_workers(const dovetail_runtime* runtime);
/// Gives the settings in force, with environment and defaults applied. Set `options->size` before. The strings belong
/// to the runtime, and are valid as long as that. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_runtime_options(const dovetail_runtime* runtime, dovetail_options* options);

// Accesses -----------------------------------------------------------------------------------------------------------

/// How a task uses a region.
enum {
  DOVETAIL_ACCESS_IN = 0,          ///< Reads: after earlier writers, together with other readers.
  DOVETAIL_ACCESS_OUT = 1,         ///< Overwrites: after everything earlier on the region.
  DOVETAIL_ACCESS_INOUT = 2,       ///< Reads and overwrites: ordered as DOVETAIL_ACCESS_OUT.
  DOVETAIL_ACCESS_COMMUTATIVE = 3  ///< Updates in any order but never two at once, with others of the same kind.
};

/// One use of a range of bytes in memory or in a file, or of a region of another space. Best made by the functions below.
typedef struct dovetail_access {
  int64_t space;     ///< 0: the memory of this process; else `dovetail_file_space` or `dovetail_space_number`.
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
/// Use of `length` units from `offset` of a space of the program's own. Context: any. Suspends: no. Errors: a null space, a
/// wrong mode or a negative number makes a negative `mode`, which spawning refuses.
dovetail_access dovetail_access_space(int32_t mode, const dovetail_space* space, int64_t offset, int64_t length);

/// Makes a space of regions for things that are neither memory nor a file, such as the window of another rank. `name` is
/// copied, and shown with the regions that tasks use in reports and traces. Each call makes another space. `*space` is the
/// caller's until `dovetail_space_release`. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_space_create(const char* name, dovetail_space** space);
/// Its number, for `dovetail_access`. Any bits: not an error code; 0 only for a null space. Context: any. Suspends: no.
/// Errors: none.
int64_t dovetail_space_number(const dovetail_space* space);
/// Frees the space; null is allowed. Tasks that use it stay ordered; those that are spawned with its number from now on are
/// not named. Context: any. Suspends: no. Errors: none.
void dovetail_space_release(dovetail_space* space);

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

/// Describes a task, for all functions that spawn one. All of it is copied by spawning, what `argument` points to only
/// with an `argument_size`. Written with designated initialisers: `{.size = sizeof task, .body = f, .argument = a}`.
typedef struct dovetail_task_description {
  size_t size;                           ///< `sizeof(dovetail_task_description)`.
  dovetail_body body;                    ///< What to run; or
  dovetail_fallible_body fallible_body;  ///< this. Exactly one of the two.
  void* argument;                        ///< Given to the body, to `onready` and to `destroy`.
  size_t argument_size;             ///< Not 0: that many bytes are copied, and all three get the copy (aligned to 16).
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
  const char* storage_bw;  ///< It starts when its device has room for it: "20" (MB/s), "auto", "auto(min,max,delta)",
                           ///< "adaptive" or "none". Null: "none". See dovetail_admission.h.
  const char* device;      ///< Name of its device, or a path on it. Null: the first configured, else the
                           ///< current folder's.
} dovetail_task_description;

/// Spawns a task without a parent. Accesses are ordered among all tasks so spawned in the runtime. `*future` is the
/// caller's until `dovetail_future_release`; `future` may be null if it is not wanted. On an error the argument stays the
/// caller's and `destroy` is not called. The first task of a device whose bandwidth is not configured has it measured, which
/// takes up to a second. Context: wait. Suspends: may, when far more tasks are pending than can be executed. Errors:
/// -EINVAL, also for a constraint that makes no sense and a device that does not exist; the errno of an access that could
/// not be made.
int32_t dovetail_runtime_spawn(dovetail_runtime* runtime, const dovetail_task_description* description,
                               dovetail_future** future);
/// Spawns a child of the current task, with accesses ordered among those of its siblings; the rest as
/// `dovetail_runtime_spawn`; `future` may be null. Context: task. Suspends: may, as there. Errors: -EPERM outside of a task; as there.
int32_t dovetail_task_spawn(const dovetail_task_description* description, dovetail_future** future);
/// Waits until all children of the current task have completed. Context: task. Suspends: may. Errors: -EPERM outside of a task; that of the
/// first child whose failure has not been taken.
int32_t dovetail_task_wait(void);
/// Whether the caller is in the body of a task: 1 or 0. Context: any. Suspends: no. Errors: none.
int32_t dovetail_task_active(void);
/// Whether the current task has been asked to stop: 1 or 0. Context: any (0 outside of a task). Suspends: no. Errors: none.
int32_t dovetail_task_cancelled(void);
/// Copies the label of the current task with an ending zero into `buffer`, cut to `capacity`, and returns its whole
/// length. `buffer` may be null with a capacity of 0. Context: any (empty outside of a task). Suspends: no. Errors:
/// -EINVAL.
int64_t dovetail_task_label(char* buffer, size_t capacity);
/// Suspends the current task until `dovetail_handle_resume`; returns at once if that came since the last suspend. Context: task. Suspends:
/// may. Errors: -EPERM outside of a task; -EDEADLK when it is certain that no resume can come.
int32_t dovetail_task_suspend(void);
/// Suspends the current task for about `nanoseconds`; returns the nanoseconds really slept. Context: task. Suspends: may. Errors: -EPERM
/// outside of a task; -EINVAL for a negative duration.
int64_t dovetail_task_wait_for(int64_t nanoseconds);
/// Lets other ready tasks run first. Context: task. Suspends: may. Errors: -EPERM outside of a task.
int32_t dovetail_task_yield(void);

// Futures (several threads may use one at once, until its last release) ----------------------------------------------

/// Waits until the task has completed, failed or not. Context: wait. Suspends: may. Errors: -EDEADLK when the task
/// can never complete.
int32_t dovetail_future_wait(const dovetail_future* future);
/// As `dovetail_future_wait`, for at most `at_most_ns` nanoseconds; negative: for as long as it takes. Returns 1, or 0 when
/// the time is over. Context: wait. Suspends: may. Errors: -EDEADLK as there; -EPERM for a task that waits for itself.
int32_t dovetail_future_wait_for(const dovetail_future* future, int64_t at_most_ns);
/// Waits until one of `count` tasks has completed, failed or not, for at most `at_most_ns` nanoseconds; negative: for as
/// long as it takes. Returns its place in `futures`, the first if there are several, or -ETIMEDOUT when the time is over.
/// Context: wait. Suspends: may. Errors: -EINVAL also for a `count` of 0; -ETIMEDOUT; -EDEADLK, -EPERM as there.
int64_t dovetail_future_wait_for_any(const dovetail_future* const* futures, size_t count, int64_t at_most_ns);
/// Waits as `dovetail_future_wait` and tells how the task ended: the result of its fallible body (0 for the other
/// kind), or its error. The failure then counts as taken. Context: wait. Suspends: may. Errors: that of the task;
/// -ECANCELED when it never ran; -EDEADLK.
int32_t dovetail_future_get(const dovetail_future* future);
/// Whether the task has completed, failed or not: 1 or 0. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_future_ready(const dovetail_future* future);
/// Calls `callback(argument)` once, when the task has completed, failed or not. The thread that completes it does so, or at once the caller
/// if it has completed. Callbacks that are there by then are called in the order of these calls; `dovetail_runtime_wait` returns after
/// them. A callback must be short and must not wait for anything; it may fulfill events, resume tasks, and call `dovetail_runtime_spawn`.
/// The future may be released before. `argument` stays the caller's. Context: any. Suspends: no. Errors: -EINVAL, -ENOMEM; then it is not
/// called.
int32_t dovetail_future_when_completed(const dovetail_future* future, void (*callback)(void* argument), void* argument);
/// Asks that the task does not run: one that has not started is cancelled with its successors, one that runs sees
/// `dovetail_task_cancelled`. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_future_cancel(const dovetail_future* future);
/// Adds an owner: one more `dovetail_future_release` is due. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_future_retain(dovetail_future* future);
/// Drops one owner; null is allowed. Does not wait: the task goes on. Context: any. Suspends: no. Errors: none.
void dovetail_future_release(dovetail_future* future);

#ifdef __cplusplus
}
#endif

#endif
