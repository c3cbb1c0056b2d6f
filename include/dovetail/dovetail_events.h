/// @file
/// How in C what happens outside becomes part of a task: events, handles, descriptors, polling services and their operations. What
/// dovetail.h says at its top about results, contexts, suspending and errors holds here.
#ifndef DOVETAIL_EVENTS_H
#define DOVETAIL_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dovetail_runtime dovetail_runtime;      ///< See dovetail.h.
typedef struct dovetail_events dovetail_events;        ///< The event count of a task. Belongs to the task.
typedef struct dovetail_handle dovetail_handle;        ///< Refers to a task so that it can be resumed.
typedef struct dovetail_polling dovetail_polling;      ///< A registered polling service.
typedef struct dovetail_operation dovetail_operation;  ///< Something that a polling service expects to end.

// Events -------------------------------------------------------------------------------------------------------------

/// Gives the events of the current task; in `onready`, of the task that is about to be ready. They belong to the task
/// and are valid until it completes. Context: task, and `onready`. Suspends: no. Errors: -EPERM elsewhere.
int32_t dovetail_task_events(dovetail_events** events);
/// Adds `count` events: the task completes only after as many were fulfilled. Context: the body or `onready` of that
/// task, or anywhere while an event of it is outstanding. Suspends: no. Errors: -EINVAL.
int32_t dovetail_events_add(dovetail_events* events, uint32_t count);
/// Fulfills `count` events. The last may complete the task: do not use `events` afterwards. Context: any. Suspends:
/// no. Errors: -EINVAL.
int32_t dovetail_events_fulfill(dovetail_events* events, uint32_t count);
/// Fulfills one event and fails the task with `code` (a negative errno) and `message` (copied); `message` may be null.
/// Context: any. Suspends: no. Errors: -EINVAL, and then the event is still outstanding.
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

// Descriptors --------------------------------------------------------------------------------------------------------

/// Suspends the current task until `descriptor` can be read without blocking, its other end has hung up, or it has an error. Returns at
/// once for a file. For at most `at_most_ns` nanoseconds; negative: for as long as it takes. Returns 1, or 0 when the time is over. The
/// descriptor must stay open. Context: task. Suspends: may. Errors: -EPERM outside of a task, -EBADF, -ECANCELED when the task was
/// cancelled.
int32_t dovetail_task_wait_readable(int32_t descriptor, int64_t at_most_ns);
/// As `dovetail_task_wait_readable`, until `descriptor` can be written. Context: task. Suspends: may. Errors: as there.
int32_t dovetail_task_wait_writable(int32_t descriptor, int64_t at_most_ns);

// Polling services ---------------------------------------------------------------------------------------------------

/// A function that asks a library what has completed. It calls `dovetail_operation_complete` for each operation that
/// has, and returns how many it found of those that `dovetail_polling_add_pending` counted: usually 0. Runs outside
/// of any task, never twice at once, must not suspend, and should be short.
typedef size_t (*dovetail_poll)(void* argument);

/// Registers `poll`. While something is pending it is called at an interval that adapts to what polls find. The interval is between
/// `shortest_ns` and `longest_ns` (0: the defaults, 5 and 500 microseconds). It is also called at once whenever `descriptor` is readable
/// (-1: there is none), which the caller keeps open. `label` is copied; `label` may be null. `argument` stays the caller's and must outlive
/// the service. `*polling` is the caller's until `dovetail_polling_destroy`. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_polling_create(dovetail_runtime* runtime, const char* label, int64_t shortest_ns, int64_t longest_ns,
                                dovetail_poll poll, void* argument, int32_t descriptor, dovetail_polling** polling);
/// Waits for a running poll, unregisters and frees the service; null is allowed. Nothing may be pending and the
/// runtime must still be there. Context: any, save the polling function. Suspends: no, blocks. Errors: -EBUSY while
/// something is pending (it stays registered).
int32_t dovetail_polling_destroy(dovetail_polling* polling);
/// Says that `count` more operations are pending, of which the program tells the end itself: prefer
/// `dovetail_polling_expect`. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_polling_add_pending(dovetail_polling* polling, size_t count);
/// Number of operations that are pending. Context: any. Suspends: no. Errors: -EINVAL.
int64_t dovetail_polling_pending(const dovetail_polling* polling);
/// Nanoseconds between polls that are in use. Context: any. Suspends: no. Errors: -EINVAL.
int64_t dovetail_polling_interval(const dovetail_polling* polling);

// Operations ---------------------------------------------------------------------------------------------------------

/// Expects one more operation to end. `what` is copied, and said where the runtime reports what tasks wait for: "a
/// message of rank 1, tag 3". `*operation` is the caller's until `dovetail_operation_release`. Context: any. Suspends:
/// no. Errors: -EINVAL; -ENOTRECOVERABLE if the polling function, compiled as C++, has thrown.
int32_t dovetail_polling_expect(dovetail_polling* polling, const char* what, dovetail_operation** operation);
/// Waits until the operation has ended, for at most `at_most_ns` nanoseconds; negative: for as long as it takes.
/// Returns 1, or 0 when the time is over: then it may be waited for again. Only one task may wait for an operation, or
/// be bound to it. Context: task. Suspends: may. Errors: the code of `dovetail_operation_fail`; -EPERM outside of a task, and if a task
/// waits for the operation already.
int32_t dovetail_operation_wait(dovetail_operation* operation, int64_t at_most_ns);
/// Binds the completion of the current task (in `onready`, its start) to the operation; if it fails, so does the task.
/// Context: task, and `onready`. Suspends: no. Errors: -EPERM elsewhere, and if a task waits for the operation already.
int32_t dovetail_operation_bind(dovetail_operation* operation);
/// The operation has ended. Later calls do nothing. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_operation_complete(dovetail_operation* operation);
/// The operation has ended by an error, `code` (a negative errno) with `message` (copied); `message` may be null. Later
/// calls do nothing. Context: any. Suspends: no. Errors: -EINVAL, and then it has not ended.
int32_t dovetail_operation_fail(dovetail_operation* operation, int32_t code, const char* message);
/// Adds an owner, such as the polling function: one more `dovetail_operation_release` is due. Context: any. Suspends:
/// no. Errors: -EINVAL.
int32_t dovetail_operation_retain(dovetail_operation* operation);
/// Drops one owner; null is allowed. An operation whose last owner drops it before it has ended fails. Context: any.
/// Suspends: no. Errors: none.
void dovetail_operation_release(dovetail_operation* operation);

#ifdef __cplusplus
}
#endif

#endif
