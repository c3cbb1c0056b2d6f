/// @file
/// A lock, a semaphore, a latch and a barrier in C, and waiting for the first of several things. What dovetail.h says at its top about
/// results, contexts, suspending and errors holds here.
///
/// While a task waits for one of them, its core runs other tasks. On a thread that runs no task the call blocks the thread. Waits end in the
/// order in which they began. `dovetail_future_cancel` ends none. When nothing has run for `report_after_ms`, a task that waits is named on
/// standard error, with what it waits for. A wait gives -EDEADLK if the runtime finds the program stuck (`stuck_after_ms`); the caller has then
/// got nothing. A limit of time, `at_most_ns`, is in nanoseconds; negative: for as long as it takes; 0: only look.
///
/// Several threads may use one object at once. Destroy it only when no call on it is under way and none will follow.
#ifndef DOVETAIL_SYNCHRONIZATION_H
#define DOVETAIL_SYNCHRONIZATION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dovetail_future dovetail_future;        ///< See dovetail.h.
typedef struct dovetail_operation dovetail_operation;  ///< See dovetail_events.h.
typedef struct dovetail_semaphore dovetail_semaphore;  ///< A number of units, of which each user takes some.
typedef struct dovetail_mutex dovetail_mutex;          ///< A lock that may be held across a pause. Not recursive.
typedef struct dovetail_latch dovetail_latch;          ///< Opens once it has been counted down to zero, and stays open.
typedef struct dovetail_barrier dovetail_barrier;      ///< Each phase ends when all participants have arrived.

// Semaphores ---------------------------------------------------------------------------------------------------------

/// Makes a semaphore with `units` units, such as bytes of memory or connections. `*semaphore` is the caller's until
/// `dovetail_semaphore_destroy`. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_semaphore_create(int64_t units, dovetail_semaphore** semaphore);
/// Frees the semaphore; null is allowed. Context: any. Suspends: no. Errors: none.
void dovetail_semaphore_destroy(dovetail_semaphore* semaphore);
/// Waits until `units` are available and all earlier calls have got theirs, then takes them. So small requests do not overtake a large one.
/// Context: wait. Suspends: may. Errors: -EINVAL; -EDEADLK.
int32_t dovetail_semaphore_acquire(dovetail_semaphore* semaphore, int64_t units);
/// As `dovetail_semaphore_acquire`, for at most `at_most_ns`. Returns 1 if the units have been taken, or 0 when the time is over. Context:
/// wait. Suspends: may. Errors: -EINVAL; -EDEADLK.
int32_t dovetail_semaphore_acquire_for(dovetail_semaphore* semaphore, int64_t units, int64_t at_most_ns);
/// Takes `units` if that is possible at once. Returns 1 if they have been taken, else 0. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_semaphore_try_acquire(dovetail_semaphore* semaphore, int64_t units);
/// Gives back `units`, or adds new ones. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_semaphore_release(dovetail_semaphore* semaphore, int64_t units);
/// Units that can be taken now. Other threads may change the number before the caller looks at it. Context: any. Suspends: no. Errors:
/// -EINVAL.
int64_t dovetail_semaphore_available(const dovetail_semaphore* semaphore);

// Locks --------------------------------------------------------------------------------------------------------------

/// Makes an unlocked lock. `*mutex` is the caller's until `dovetail_mutex_destroy`. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_mutex_create(dovetail_mutex** mutex);
/// Frees the lock; null is allowed. Context: any. Suspends: no. Errors: none.
void dovetail_mutex_destroy(dovetail_mutex* mutex);
/// Waits until the caller holds the lock. A task may hold it across a pause, on whichever thread it goes on. Context: wait. Suspends: may.
/// Errors: -EINVAL; -EDEADLK.
int32_t dovetail_mutex_lock(dovetail_mutex* mutex);
/// As `dovetail_mutex_lock`, for at most `at_most_ns`. Returns 1 if the caller holds the lock, or 0 when the time is over. Context: wait.
/// Suspends: may. Errors: -EINVAL; -EDEADLK.
int32_t dovetail_mutex_lock_for(dovetail_mutex* mutex, int64_t at_most_ns);
/// Takes the lock if that is possible at once. Returns 1 if the caller holds it, else 0. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_mutex_try_lock(dovetail_mutex* mutex);
/// By the task or thread that holds it. The one that has waited longest gets it. Context: any. Suspends: no. Errors: -EPERM if it is
/// not held.
int32_t dovetail_mutex_unlock(dovetail_mutex* mutex);

// Latches ------------------------------------------------------------------------------------------------------------

/// Makes a latch that opens after `count` steps. `*latch` is the caller's until `dovetail_latch_destroy`. Context: any. Suspends: no.
/// Errors: -EINVAL.
int32_t dovetail_latch_create(int64_t count, dovetail_latch** latch);
/// Frees the latch; null is allowed. Context: any. Suspends: no. Errors: none.
void dovetail_latch_destroy(dovetail_latch* latch);
/// Counts `steps`. Context: any. Suspends: no. Errors: -EINVAL also for more steps than are left; then it has counted none.
int32_t dovetail_latch_count_down(dovetail_latch* latch, int64_t steps);
/// Whether it is open: 1 or 0. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_latch_try_wait(const dovetail_latch* latch);
/// Returns when it is open. Context: wait. Suspends: may. Errors: -EINVAL; -EDEADLK.
int32_t dovetail_latch_wait(dovetail_latch* latch);
/// As `dovetail_latch_wait`, for at most `at_most_ns`. Returns 1 if it is open, or 0 when the time is over. Context: wait. Suspends: may.
/// Errors: -EINVAL; -EDEADLK.
int32_t dovetail_latch_wait_for(dovetail_latch* latch, int64_t at_most_ns);

// Barriers -----------------------------------------------------------------------------------------------------------

/// Makes a barrier for `participants`, at least 1. `*barrier` is the caller's until `dovetail_barrier_destroy`. Context: any. Suspends: no.
/// Errors: -EINVAL.
int32_t dovetail_barrier_create(int64_t participants, dovetail_barrier** barrier);
/// Frees the barrier; null is allowed. Context: any. Suspends: no. Errors: none.
void dovetail_barrier_destroy(dovetail_barrier* barrier);
/// Returns when all participants of this phase have arrived. Context: wait. Suspends: may. Errors: -EINVAL; -EDEADLK, and then the arrival
/// counts all the same.
int32_t dovetail_barrier_arrive_and_wait(dovetail_barrier* barrier);
/// As `dovetail_barrier_arrive_and_wait`, for at most `at_most_ns`. Returns 1 if all have arrived, or 0 when the time is over. Then the
/// arrival counts all the same: the others do not wait for this participant in this phase. Context: wait. Suspends: may. Errors: as there.
int32_t dovetail_barrier_arrive_and_wait_for(dovetail_barrier* barrier, int64_t at_most_ns);
/// Arrives without waiting, and takes part in no later phase. By each participant once at most. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_barrier_arrive_and_drop(dovetail_barrier* barrier);

// The first of several things ----------------------------------------------------------------------------------------

/// What an alternative waits for.
enum {
  DOVETAIL_SELECT_FUTURE = 0,     ///< The task has completed, failed or not.
  DOVETAIL_SELECT_SEMAPHORE = 1,  ///< Units of a semaphore have been taken.
  DOVETAIL_SELECT_MUTEX = 2,      ///< The caller holds the lock.
  DOVETAIL_SELECT_LATCH = 3,      ///< The latch is open.
  DOVETAIL_SELECT_OPERATION = 4,  ///< The operation has ended; `dovetail_operation_wait` then returns at once.
  DOVETAIL_SELECT_READABLE = 5,   ///< The descriptor can be read. Only in a task.
  DOVETAIL_SELECT_WRITABLE = 6    ///< The descriptor can be written. Only in a task.
};

/// One of the things that `dovetail_select` waits for. It refers to an object, which must outlive the call. Best made by the functions below.
typedef struct dovetail_alternative {
  int32_t kind;        ///< DOVETAIL_SELECT_FUTURE and so on.
  int32_t descriptor;  ///< Of the last two kinds.
  int64_t units;       ///< Of a semaphore.
  void* object;        ///< The future, semaphore, mutex, latch or operation.
} dovetail_alternative;

/// That the task has completed, failed or not. Context: any. Suspends: no. Errors: `dovetail_select` refuses a null future.
dovetail_alternative dovetail_alternative_future(const dovetail_future* future);
/// That `units` have been taken. Context: any. Suspends: no. Errors: `dovetail_select` refuses a null semaphore and a negative number.
dovetail_alternative dovetail_alternative_semaphore(dovetail_semaphore* semaphore, int64_t units);
/// That the caller holds the lock. Context: any. Suspends: no. Errors: `dovetail_select` refuses a null mutex.
dovetail_alternative dovetail_alternative_mutex(dovetail_mutex* mutex);
/// That the latch is open. Context: any. Suspends: no. Errors: `dovetail_select` refuses a null latch.
dovetail_alternative dovetail_alternative_latch(dovetail_latch* latch);
/// That the operation has ended. While the call waits no other may wait for it. Context: any. Suspends: no. Errors: `dovetail_select`
/// refuses a null operation.
dovetail_alternative dovetail_alternative_operation(dovetail_operation* operation);
/// That `descriptor` can be read, as in `dovetail_task_wait_readable`. Context: any. Suspends: no. Errors: none.
dovetail_alternative dovetail_alternative_readable(int32_t descriptor);
/// That `descriptor` can be written, as in `dovetail_task_wait_writable`. Context: any. Suspends: no. Errors: none.
dovetail_alternative dovetail_alternative_writable(int32_t descriptor);

/// Waits until one of `count` alternatives has happened, for at most `at_most_ns`, and returns its place, the first if there are several. It
/// takes effect alone: units and locks of the others are not taken. Context: wait. Suspends: may. Errors: -ETIMEDOUT when the time is over;
/// -EINVAL also for a `count` of 0; -EPERM for a task that waits for itself, an operation that another call waits for, and a descriptor
/// outside of a task; -EBADF for a descriptor that is not open; -EDEADLK.
int64_t dovetail_select(const dovetail_alternative* alternatives, size_t count, int64_t at_most_ns);

#ifdef __cplusplus
}
#endif

#endif
