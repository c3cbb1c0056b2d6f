/// @file
/// Files and raw descriptors in C. What dovetail.h says at its top about results, contexts, suspending, errors and structures
/// holds here.
///
/// One file may be used by any number of tasks and threads at once. Operations that overlap are ordered by the accesses of their tasks
/// alone. A plain operation ends before it returns. One with an `i` in front is bound to the calling task and returns at once. The task
/// completes no earlier than the operation and fails with it. Buffers must stay valid until then. `*transferred` receives the bytes before
/// the task completes. Wherever it occurs, `transferred` may be null. In I/O tasks and outside of tasks both block the thread. Short
/// transfers are continued, EINTR and EAGAIN retried; other errors are the errno of the system call.
#ifndef DOVETAIL_DOVETAIL_FILES_H
#define DOVETAIL_DOVETAIL_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "dovetail/dovetail_buffers.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dovetail_file dovetail_file;  ///< An open file. Made by `dovetail_file_open` and its kin.

/// Whether a file bypasses the page cache (`O_DIRECT`). Unaligned heads and tails are handled.
enum {
  DOVETAIL_DIRECT_NEVER = 0,      ///< Through the page cache, unless the flags say `O_DIRECT`.
  DOVETAIL_DIRECT_AUTOMATIC = 1,  ///< Bypassed where the file system can.
  DOVETAIL_DIRECT_ALWAYS = 2,     ///< Bypassed, or opening fails.
  DOVETAIL_DIRECT_ADAPTIVE = 3    ///< Bypassed by those transfers to which it pays.
};

/// What the requests of a file are for. It matters where the runtime keeps requests back because the device has as many as it should have
/// at once. The more urgent then go first among those of one kind. Kinds differ by direction (read, write, no transfer), path (through the
/// page cache or past it) and size (up to 32 KiB or longer). None starves: a request of a drain is overtaken by at most 8 of the program,
/// a prefetch by at most 16 others. It does nothing for bytes that the page cache takes or gives at once, nor for streams. Nor does it for
/// calls in I/O tasks and outside of tasks.
enum {
  DOVETAIL_URGENCY_PROGRAM = 0,  ///< The program waits for them.
  DOVETAIL_URGENCY_DRAIN = 1,    ///< They write out what the program does not wait for, such as a checkpoint.
  DOVETAIL_URGENCY_PREFETCH = 2  ///< They read what may never be needed.
};

/// How a file is opened, besides the POSIX flags.
typedef struct dovetail_file_options {
  size_t size;       ///< `sizeof(dovetail_file_options)`.
  int32_t direct;    ///< DOVETAIL_DIRECT_NEVER and so on.
  int32_t mode;      ///< Permissions of a file that is created. 0: 0644.
  int32_t urgency;   ///< DOVETAIL_URGENCY_PROGRAM and so on.
  int32_t staged;    ///< 1: writes go to a log on a fast local tier first (docs/staging.md).
  const char* tier;  ///< Folder of the tier; null: `DOVETAIL_TIER`.
} dovetail_file_options;

/// One of several buffers. Laid out as `struct iovec`.
typedef struct dovetail_buffer {
  void* data;     ///< First byte. Not written to by operations that write to a file.
  size_t length;  ///< Bytes.
} dovetail_buffer;

/// Consecutive bytes of a file.
typedef struct dovetail_range {
  int64_t offset;  ///< First byte.
  int64_t length;  ///< In bytes.
} dovetail_range;

/// Opens `path` with the flags of `open(2)` (`O_CLOEXEC` is added). `options` may be null: all defaults. `*file` is the caller's
/// until `dovetail_file_close`. Context: wait. Suspends: may. Errors: those of `open(2)`.
int32_t dovetail_file_open(const char* path, int32_t flags, const dovetail_file_options* options, dovetail_file** file);
/// Reads the file at `path` from its beginning to its end, and returns how many bytes it has. `*data` leads to them; it is the caller's until
/// `dovetail_data_destroy`, and never null. One zero byte, which is not counted, lies behind them. For many small files this is faster than a
/// `dovetail_file` for each. A FIFO is read until its writers have closed it. Context: wait. Suspends: may. Errors: those of `open(2)` and `pread(2)`;
/// -ENOMEM where the memory is not there.
int64_t dovetail_read_file(const char* path, void** data);
/// Frees what `dovetail_read_file` gave; null is allowed. Context: any. Suspends: no. Errors: none.
void dovetail_data_destroy(void* data);
/// Makes a file of a descriptor that the caller opened; closing the file closes the descriptor only if `owned` is not
/// 0. `*file` is the caller's until `dovetail_file_close`. Context: any. Suspends: no. Errors: -EBADF.
int32_t dovetail_file_adopt(int32_t descriptor, int32_t owned, dovetail_file** file);
/// Closes the file after the operations in flight and frees it, whatever is returned; null is allowed. No other call
/// may use it at the same time or afterwards. Context: wait. Suspends: may. Errors: those of `close(2)`.
int32_t dovetail_file_close(dovetail_file* file);
/// The descriptor, valid until the file is closed. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_file_descriptor(const dovetail_file* file);
/// The path given to open, or "descriptor N"; belongs to the file. Null only for a null file. Context: any. Suspends:
/// no. Errors: none.
const char* dovetail_file_path(const dovetail_file* file);
/// Number of the file as a space of accesses, the same for all that lead to one inode. Any bits: not an error code; 0
/// only for a null file. Context: any. Suspends: no. Errors: none.
int64_t dovetail_file_space(const dovetail_file* file);
/// Whether transfers bypass the page cache: 1 or 0. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_file_direct(const dovetail_file* file);
/// Size in bytes, with what has been written so far. Context: any. Suspends: no. Errors: those of `fstat(2)`.
int64_t dovetail_file_size(const dovetail_file* file);
/// Cuts or extends the file to `size` bytes; not ordered with operations in flight. Context: any. Suspends: no, blocks. Errors: those of `ftruncate(2)`.
int32_t dovetail_file_truncate(const dovetail_file* file, int64_t size);

/// Reads up to `length` bytes at `offset` into `buffer`; returns the bytes read: fewer than asked only at the end of
/// the file, 0 there. Context: wait. Suspends: may. Errors: those of `pread(2)`.
int64_t dovetail_file_pread(const dovetail_file* file, void* buffer, size_t length, int64_t offset);
/// Bound form of `dovetail_file_pread`. Context: wait. Suspends: only while buffers are exhausted. Errors: -EINVAL;
/// those of the operation fail the task.
int32_t dovetail_file_ipread(const dovetail_file* file, void* buffer, size_t length, int64_t offset,
                             size_t* transferred);
/// Writes `length` bytes of `buffer` at `offset`; returns the bytes written: all of them. Context: wait. Suspends:
/// may. Errors: those of `pwrite(2)`.
int64_t dovetail_file_pwrite(const dovetail_file* file, const void* buffer, size_t length, int64_t offset);
/// Bound form of `dovetail_file_pwrite`; the buffer must not change meanwhile. Context: wait. Suspends: only while
/// buffers are exhausted. Errors: -EINVAL; those of the operation fail the task.
int32_t dovetail_file_ipwrite(const dovetail_file* file, const void* buffer, size_t length, int64_t offset,
                              size_t* transferred);
/// Reads at `offset` into `count` buffers in turn; returns the bytes read. Context: wait. Suspends: may. Errors:
/// those of `preadv(2)`, but any count is allowed.
int64_t dovetail_file_preadv(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset);
/// Bound form of `dovetail_file_preadv`; the list is copied, the buffers are not. Context: wait. Suspends: only while
/// buffers are exhausted. Errors: -EINVAL; those of the operation fail the task.
int32_t dovetail_file_ipreadv(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset,
                              size_t* transferred);
/// Writes as `dovetail_file_pwrite` and makes it durable as `dovetail_file_fdatasync`, in one submission where the kernel
/// can; `dovetail_error_operation` names the half that failed. Context: wait. Suspends: may. Errors: those of both.
int64_t dovetail_file_pwrite_durable(const dovetail_file* file, const void* buffer, size_t length, int64_t offset);
/// Writes `count` buffers in turn at `offset`; returns the bytes written: all of them. Context: wait. Suspends: may.
/// Errors: those of `pwritev(2)`, but any count is allowed.
int64_t dovetail_file_pwritev(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset);
/// Bound form of `dovetail_file_pwritev`; the list is copied, the buffers are not. Context: wait. Suspends: only
/// while buffers are exhausted. Errors: -EINVAL; those of the operation fail the task.
int32_t dovetail_file_ipwritev(const dovetail_file* file, const dovetail_buffer* buffers, size_t count, int64_t offset,
                               size_t* transferred);
/// Makes data and metadata durable. Context: wait. Suspends: may. Errors: those of `fsync(2)`.
int32_t dovetail_file_fsync(const dovetail_file* file);
/// Bound form of `dovetail_file_fsync`: covers the writes that had ended before the call. Context: wait. Suspends:
/// only while buffers are exhausted. Errors: -EINVAL; those of the operation fail the task.
int32_t dovetail_file_ifsync(const dovetail_file* file);
/// Makes data durable, and the metadata needed to read it. Context: wait. Suspends: may. Errors: those of
/// `fdatasync(2)`.
int32_t dovetail_file_fdatasync(const dovetail_file* file);
/// Bound form of `dovetail_file_fdatasync`: covers the writes that had ended before the call. Context: wait.
/// Suspends: only while buffers are exhausted. Errors: -EINVAL; those of the operation fail the task.
int32_t dovetail_file_ifdatasync(const dovetail_file* file);
/// Makes all that was written before the call durable in the file itself, where others see it (docs/staging.md). Of a file that is not staged,
/// as `dovetail_file_fsync`. Context: wait. Suspends: may. Errors: those of `pwrite(2)` and `fsync(2)`; the bytes are still on the tier then.
int32_t dovetail_file_drain(const dovetail_file* file);
/// Bound form of `dovetail_file_drain`. Context: wait. Suspends: only while buffers are exhausted. Errors: -EINVAL; those of the operation fail
/// the task.
int32_t dovetail_file_idrain(const dovetail_file* file);
/// Reserves space as `fallocate(2)`, with its `mode`. Context: wait. Suspends: may. Errors: those of `fallocate(2)`.
int32_t dovetail_file_fallocate(const dovetail_file* file, int32_t mode, int64_t offset, int64_t length);
/// Has `count` ranges brought into the page cache in the background; returns at once. It is advice: what goes wrong later is told by the
/// read that needs the bytes. Nothing happens for a stream, nor for a file that bypasses the page cache. More is said in
/// `dovetail/prefetch.hpp`. The ranges are copied. Context: any. Suspends: no. Errors: -EBADF, -EINVAL.
int32_t dovetail_file_prefetch(const dovetail_file* file, const dovetail_range* ranges, size_t count);

// Raw descriptors, which the caller owns and keeps open (-EBADF for one that is not) ---------------------------------

/// As `dovetail_file_pread`. Context: wait. Suspends: may. Errors: as there.
int64_t dovetail_descriptor_pread(int32_t descriptor, void* buffer, size_t length, int64_t offset);
/// As `dovetail_file_ipread`. Context: wait. Suspends: only while buffers are exhausted. Errors: as there.
int32_t dovetail_descriptor_ipread(int32_t descriptor, void* buffer, size_t length, int64_t offset,
                                   size_t* transferred);
/// As `dovetail_file_pwrite`. Context: wait. Suspends: may. Errors: as there.
int64_t dovetail_descriptor_pwrite(int32_t descriptor, const void* buffer, size_t length, int64_t offset);
/// As `dovetail_file_ipwrite`. Context: wait. Suspends: only while buffers are exhausted. Errors: as there.
int32_t dovetail_descriptor_ipwrite(int32_t descriptor, const void* buffer, size_t length, int64_t offset,
                                    size_t* transferred);
/// As `dovetail_file_preadv`. Context: wait. Suspends: may. Errors: as there.
int64_t dovetail_descriptor_preadv(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset);
/// As `dovetail_file_ipreadv`. Context: wait. Suspends: only while buffers are exhausted. Errors: as there.
int32_t dovetail_descriptor_ipreadv(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset,
                                    size_t* transferred);
/// As `dovetail_file_pwritev`. Context: wait. Suspends: may. Errors: as there.
int64_t dovetail_descriptor_pwritev(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset);
/// As `dovetail_file_ipwritev`. Context: wait. Suspends: only while buffers are exhausted. Errors: as there.
int32_t dovetail_descriptor_ipwritev(int32_t descriptor, const dovetail_buffer* buffers, size_t count, int64_t offset,
                                     size_t* transferred);
/// As `dovetail_file_fsync`. Context: wait. Suspends: may. Errors: as there.
int32_t dovetail_descriptor_fsync(int32_t descriptor);
/// As `dovetail_file_ifsync`. Context: wait. Suspends: only while buffers are exhausted. Errors: as there.
int32_t dovetail_descriptor_ifsync(int32_t descriptor);
/// As `dovetail_file_fdatasync`. Context: wait. Suspends: may. Errors: as there.
int32_t dovetail_descriptor_fdatasync(int32_t descriptor);
/// As `dovetail_file_ifdatasync`. Context: wait. Suspends: only while buffers are exhausted. Errors: as there.
int32_t dovetail_descriptor_ifdatasync(int32_t descriptor);
/// As `dovetail_file_fallocate`. Context: wait. Suspends: may. Errors: as there.
int32_t dovetail_descriptor_fallocate(int32_t descriptor, int32_t mode, int64_t offset, int64_t length);

#ifdef __cplusplus
}
#endif

#endif
