/// @file
/// Errors in C: what the last failing call says. What dovetail.h says at its top about results, contexts and suspending holds here.
#ifndef DOVETAIL_ERROR_H
#define DOVETAIL_ERROR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
  DOVETAIL_ERROR_OTHER = 10,     ///< A C++ exception without an errno. Code -ENOTRECOVERABLE.
  DOVETAIL_ERROR_MPI = 11,       ///< An operation of MPI failed. Code -EIO; see `dovetail_error_mpi_code`.
  DOVETAIL_ERROR_PEER = 12       ///< Another process has ended. Code -ECONNRESET; see `dovetail_error_rank`.
};

/// Code of the last error: a negative errno, or 0 when there was none. Context: any. Suspends: no. Errors: none.
int32_t dovetail_error_code(void);
/// Kind of the last error, one of DOVETAIL_ERROR_NONE and so on. Context: any. Suspends: no. Errors: none.
int32_t dovetail_error_kind(void);
/// What MPI returned, for `MPI_Error_class`; 0 when the last error was none of MPI's. Context: any. Suspends: no. Errors: none.
int32_t dovetail_error_mpi_code(void);
/// Rank of the process that has ended, which failed a one-sided operation; -1 when that was not the last error. Context: any. Suspends: no.
/// Errors: none.
int32_t dovetail_error_rank(void);
/// The last error in words: what failed, label of the task, file, offset, text of the errno. Never null; empty when there was none. The
/// string belongs to Dovetail. It is valid until the next failing call of the same task (or thread), the end of the task, or
/// `dovetail_error_clear`. Context: any. Suspends: no. Errors: none.
const char* dovetail_error_message(void);
/// Label of the task that failed, or of the task that made the failing call. Never null; validity as
/// `dovetail_error_message`. Context: any. Suspends: no. Errors: none.
const char* dovetail_error_label(void);
/// Name of the failing operation such as "pwrite" or "MPI_Recv"; empty when it was none on a file or of MPI. Never null; validity as
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
/// Makes `code` (a negative errno) and `message` (copied) the last error and returns `code`; `message` may be null. A
/// body can say `return dovetail_error_set(-EILSEQ, "bad header")`. Context: any. Suspends: no. Errors: -EINVAL when
/// `code` is not negative.
int32_t dovetail_error_set(int32_t code, const char* message);
/// Forgets the last error. Context: any. Suspends: no. Errors: none.
void dovetail_error_clear(void);

#ifdef __cplusplus
}
#endif

#endif
