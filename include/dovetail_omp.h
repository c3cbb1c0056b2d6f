/// @file
/// Storage I/O that belongs to OpenMP tasks. A task with a `detach` clause (OpenMP 5.0) starts any number of reads and writes and ends its
/// body at once. When all of them have ended, OpenMP takes the task for completed and releases what depends on it. Meanwhile the thread
/// computes. A. Roca Nonell, V. Beltran Querol and S. Mateo Bellido sketch this in section 4.4 of "Introducing the Task-Aware Storage I/O
/// (TASIO) Library" (docs/papers.md).
///
///     omp_event_handle_t event;
///     #pragma omp task depend(out: block[0]) detach(event)
///     {
///       dovetail_omp_task* io = dovetail_omp_begin(event);
///       dovetail_omp_pread(io, fd, block, size, offset, NULL);
///       dovetail_omp_end(io);
///     }
///     #pragma omp task depend(in: block[0])
///     compute(block);
///
/// Link `-ldovetail-omp` (`pkg-config --libs dovetail-omp`) and whichever OpenMP the compiler brings: libgomp and libomp both work. There
/// is nothing to start, configure or poll. The first request makes one hidden thread, which sleeps in the kernel except to hand requests
/// over and to take their ends. `DOVETAIL_ENGINE` chooses the engine, as elsewhere.
///
/// Make the tasks inside of a parallel region (`#pragma omp parallel` and then `masked` or `single`). Outside of one libgomp
/// performs each task where it is made, and waits for its I/O there: the results are right, but nothing overlaps. Dovetail says so
/// once on standard error. libomp keeps such tasks as any others.
///
/// Buffers, result and status locations, and descriptors must stay valid until the task has completed: local variables of its body do not.
/// (Arrays of `iovec` are copied.) Successors of the task may use the data, and so may code behind a `taskwait`, `taskgroup` or barrier
/// that waits for it. The body that asked for them must not. There is no form that waits inside the body, because OpenMP has no way to give
/// the thread away meanwhile: docs/design/openmp.md says why.
///
/// Errors. A request has one result: bytes transferred (0 for `fsync` and `fdatasync`), or a negative errno. Short
/// transfers are continued and interrupted ones repeated, so that fewer bytes than asked for mean the end of the file.
/// The result goes
/// 1. to the location given with the request, and nowhere else. Otherwise, if it is an error,
/// 2. to the location given by `dovetail_omp_set_status` for the task: the first error of its requests. Otherwise
/// 3. to the error handler, which prints what happened and aborts unless the program sets another.
///
/// Without a location of its own, a read that meets the end of the file early is an error too, -ENODATA. Otherwise the program
/// could not notice that part of the buffer was never written. An error at the start of a request is told the same way, never by the call.
///
/// Threads. Every function may be called from any thread, inside and outside of OpenMP, save where said otherwise. None
/// waits for a device, save where said otherwise; data that lie in memory are transferred by the call itself.
#ifndef DOVETAIL_OMP_H
#define DOVETAIL_OMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The outstanding work of one OpenMP task: a count that starts at one, for the body. Made by `dovetail_omp_begin`,
/// destroyed when the count reaches zero, at which moment the event is fulfilled, exactly once.
typedef struct dovetail_omp_task dovetail_omp_task;

/// @name Bracket of a task
/// @{

/// Begins the I/O of a task. Never null: where OpenMP has no `omp_fulfill_event`, or memory is at an end, the program is ended with a
/// message. The task could otherwise never complete.
/// @param event The task's `omp_event_handle_t` (an integer, so that this header needs no `omp.h`). Nothing else may fulfil it. Once per
///        task.
dovetail_omp_task* dovetail_omp_begin(uintptr_t event);
/// Ends the registering of requests: the last use of `io` in the body. Hands over what has been gathered. The task completes
/// when its body has returned and the count is zero, perhaps during this call.
void dovetail_omp_end(dovetail_omp_task* io);
/// Hands over the requests gathered so far, for a body that goes on computing before `dovetail_omp_end`.
void dovetail_omp_submit(dovetail_omp_task* io);
/// From now on, the first error among requests of this task without a location of their own goes to `*status` as a negative
/// errno. Sets it to 0 first. Before the first request. Null: back to the error handler.
void dovetail_omp_set_status(dovetail_omp_task* io, int* status);
/// @}

/// @name Requests
/// Between `dovetail_omp_begin` and `dovetail_omp_end`, or while an event added with `dovetail_omp_add` is outstanding; by
/// one thread at a time for one `io`. They are not ordered among each other: order two by two dependent tasks, or use
/// `dovetail_omp_pwrite_fdatasync`.
/// @param result Null, or where the result goes before the task completes.
/// @{
void dovetail_omp_pread(dovetail_omp_task* io, int descriptor, void* buffer, size_t size, int64_t offset,
                        ssize_t* result);
void dovetail_omp_pwrite(dovetail_omp_task* io, int descriptor, const void* buffer, size_t size, int64_t offset,
                         ssize_t* result);
void dovetail_omp_preadv(dovetail_omp_task* io, int descriptor, const struct iovec* buffers, int count, int64_t offset,
                         ssize_t* result);
void dovetail_omp_pwritev(dovetail_omp_task* io, int descriptor, const struct iovec* buffers, int count, int64_t offset,
                          ssize_t* result);
/// Makes durable what was written before this call: by tasks that had completed, not by other requests of this task.
void dovetail_omp_fsync(dovetail_omp_task* io, int descriptor, ssize_t* result);
/// As `dovetail_omp_fsync`, without metadata that reading does not need.
void dovetail_omp_fdatasync(dovetail_omp_task* io, int descriptor, ssize_t* result);
/// Writes, and when that has ended makes it durable. The result is that of the write, or the first error of the two.
void dovetail_omp_pwrite_fdatasync(dovetail_omp_task* io, int descriptor, const void* buffer, size_t size,
                                   int64_t offset, ssize_t* result);
/// @}

/// @name Other asynchronous work
/// So that other libraries (messages, accelerators) share the one event of a task.
/// @{

/// The task waits for `count` more fulfilments. In the bracket, or while an earlier one is outstanding.
void dovetail_omp_add(dovetail_omp_task* io, uint32_t count);
/// Gives `count` of them. The last may complete the task: `io` must not be used afterwards.
void dovetail_omp_fulfill(dovetail_omp_task* io, uint32_t count);
/// Gives one, and reports an error as that of a request without location.
/// @param io The task; not to be used afterwards if this was the last fulfilment.
/// @param error A negative errno.
/// @param operation What failed, for the message; copied. May be null.
void dovetail_omp_fail(dovetail_omp_task* io, int error, const char* operation);
/// @}

/// @name Messages
/// @{

/// What the inline functions of dovetail_omp_mpi.h call; not for programs.
/// @param io The task.
/// @param abi For which `mpi.h` the caller was compiled: 1 for that of MPICH, 2 for that of Open MPI.
/// @param requests The handles, which are copied.
/// @param size Bytes of each.
/// @param count How many there are.
/// @param statuses Null, or where their statuses go.
void dovetail_omp_mpi_requests(dovetail_omp_task* io, int abi, const void* requests, size_t size, size_t count,
                               void* statuses);
/// @}

/// @name Errors without a location
/// @{

/// A request that failed.
typedef struct dovetail_omp_error {
  int error;              ///< Negative errno.
  int descriptor;         ///< The file, or -1.
  int64_t offset;         ///< First byte that was not transferred, or -1.
  uint64_t left;          ///< Bytes that were not transferred.
  const char* operation;  ///< "pread", "pwrite", "fsync" and so on.
  const char* message;    ///< All of it in words. Both strings belong to Dovetail and end with the call of the handler.
} dovetail_omp_error;

/// Called for each error that has no location, before the task completes. Any thread may call it, several at once, also the hidden one,
/// which waits meanwhile. It must not wait for I/O of tasks. May `exit` only through `_exit` or `abort`.
typedef void (*dovetail_omp_error_handler)(const dovetail_omp_error* error, void* argument);

/// The default: prints the message and aborts.
void dovetail_omp_abort_on_error(const dovetail_omp_error* error, void* argument);
/// Keeps the first error for `dovetail_omp_status`, and counts the others.
void dovetail_omp_keep_errors(const dovetail_omp_error* error, void* argument);
/// Sets the handler of the process. Null: the default.
void dovetail_omp_set_error_handler(dovetail_omp_error_handler handler, void* argument);

/// The errors kept by `dovetail_omp_keep_errors` so far: 0, or the negative errno of the first.
/// @param message Null, or where its words go, cut to `size` bytes with the closing zero; empty if there was none.
/// @param size Bytes at `message`.
/// @param count Null, or where the number of errors goes.
int dovetail_omp_status(char* message, size_t size, uint64_t* count);
/// Forgets them, and returns what `dovetail_omp_status` would have.
int dovetail_omp_clear_status(void);
/// @}

/// @name The hidden thread
/// Not needed by an ordinary program.
/// @{

/// Makes it now rather than at the first request. Returns 0; -ENOSYS if OpenMP here has no `omp_fulfill_event`; -EAGAIN, -ENOMEM or -EINVAL
/// (a `DOVETAIL_` variable that makes no sense) if there can be none. A message then says why, and the calls perform their requests
/// themselves.
int dovetail_omp_start(void);
/// Waits until all requests have ended, and ends it; the next request makes another. Blocks: not from a task that other
/// tasks wait for, nor from an error handler (-EDEADLK). Returns 0. At `exit` it is called by itself, so that requests that
/// were handed over reach the file; `_exit`, `abort` and signals do not wait.
int dovetail_omp_stop(void);
/// @}

#ifdef __cplusplus
}
#endif

#endif
