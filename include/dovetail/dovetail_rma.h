/// @file
/// One-sided communication in C: a task writes into the memory of another process and notifies it. In C++ use <dovetail/rma.hpp>, of which this
/// is a translation: what is said there holds here. What dovetail.h says at its top about results, contexts and suspending holds here as well.
///
/// A place in the memory of a rank is `rank`, `segment` (what `dovetail_rma_segment_id` returns, the same in all processes) and `offset` in bytes.
/// A notification has an `id`, below the number of those of that segment, and a `value` that is not 0. `from` is the rank whose end fails the wait,
/// too; negative: any.
///
/// Errors, not repeated below: -EINVAL for a rank, segment, offset or id that there is not, before anything is written; -EPERM where the call is not
/// allowed, where the process has no group, and where something else waits for the same notification; -ECONNRESET when a process has ended on which
/// the call depends, with its rank in `dovetail_error_rank`; -ENOMEM. A bound operation that fails later fails its task in the same way.
#ifndef DOVETAIL_DOVETAIL_RMA_H
#define DOVETAIL_DOVETAIL_RMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// @name Opaque objects
/// @{
typedef struct dovetail_rma_group dovetail_rma_group;      ///< The processes of the program.
typedef struct dovetail_rma_segment dovetail_rma_segment;  ///< Memory into which the others write.
typedef struct dovetail_rma_inbox dovetail_rma_inbox;      ///< Receives messages of any rank.
/// @}

/// How a group is made. Zero fields have the default.
typedef struct dovetail_rma_options {
  size_t size;                 ///< `sizeof(dovetail_rma_options)`.
  int64_t start_timeout_ms;    ///< Until all processes have come, and all begin a segment. 0: one minute.
  int64_t silence_timeout_ms;  ///< How long another node may be silent until its processes have died. 0: one minute.
} dovetail_rma_options;

/// One part of a list.
typedef struct dovetail_rma_transfer {
  void* data;        ///< Here. Only read by the calls that write.
  size_t bytes;      ///< How many.
  int64_t offset;    ///< There, in bytes.
  int32_t rank;      ///< Of the other process.
  uint32_t segment;  ///< Its segment.
} dovetail_rma_transfer;

// Group --------------------------------------------------------------------------------------------------------------

/// Called by all processes at the same time; blocks until all have come. `options` may be null. `*group` is the caller's until
/// `dovetail_rma_group_end`. A process has one group at a time. Context: wait. Suspends: no. Errors: -EPERM if there is a group already,
/// -ENOTRECOVERABLE with what the starter says, those of the system.
int32_t dovetail_rma_group_start(const dovetail_rma_options* options, dovetail_rma_group** group);
/// Ends the group, and its segments with it; what waits fails. No other call that uses them may be running. Null is allowed. Context: any.
/// Suspends: no. Errors: none.
void dovetail_rma_group_end(dovetail_rma_group* group);
/// Rank of this process, from 0. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_rma_group_rank(const dovetail_rma_group* group);
/// How many processes there are. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_rma_group_size(const dovetail_rma_group* group);
/// How data gets to a rank: "shared memory", "this process", or "libfabric (tcp;ofi_rxm)" to another node. Null for a rank that there is not, and for a null group. The string lives as long
/// as the group. Context: any. Suspends: no. Errors: none.
const char* dovetail_rma_group_transport(const dovetail_rma_group* group, int32_t rank);
/// Returns when all processes have called it. By one thread of a process at a time. Context: wait. Suspends: yes. Errors: -ECONNRESET.
int32_t dovetail_rma_group_barrier(const dovetail_rma_group* group);

// Segments -----------------------------------------------------------------------------------------------------------

/// Memory of zeros with so many notifications, at most 2^24 (65536 is usual; 8 bytes each). Called by all processes at the same time, in the same
/// order; each chooses its own size. Blocks. `*segment` belongs to the group; the segment ends with it or by `dovetail_rma_segment_end`. Context: wait.
/// Suspends: no. Errors: -EINVAL, also if the group has 255 segments at the time, those of the system.
int32_t dovetail_rma_segment_allocate(dovetail_rma_group* group, size_t bytes, uint32_t notifications,
                                      dovetail_rma_segment** segment);
/// The same with memory of the program's own, which stays the program's and stays mapped until the segment has ended. `data` may be null if
/// there are no bytes. The kernel copies for the others, which costs a system call and has no atomic operations. Some processes may use their
/// own memory, and others allocate. Context: wait. Suspends: no. Errors: as above; -ENOTRECOVERABLE in all processes where the kernel does
/// not allow it (Yama, the filter of a container).
int32_t dovetail_rma_segment_use(dovetail_rma_group* group, void* data, size_t bytes, uint32_t notifications,
                                 dovetail_rma_segment** segment);
/// Called by all processes at the same time, in the same order as they begin and end others; blocks. Writes and reads that tasks have begun are waited for;
/// waits for its notifications fail, and those that were not taken are lost. Then no rank writes into its memory any more: that of `allocate` is gone. Its number
/// serves a later segment. `segment` stays valid until the group ends: calls with it fail with -EINVAL. No other call that uses the segment may be running, but
/// for tasks that wait. `objection`: why this process cannot end it yet, so that none does; null or empty: it can. Context: wait. Suspends: no.
/// Errors: -EINVAL if it has ended; -ENOTRECOVERABLE in all processes if one does not end it; -ECONNRESET if a process has died: the segment has ended all the
/// same.
int32_t dovetail_rma_segment_end(dovetail_rma_segment* segment, const char* objection);
/// The first byte; of allocated memory at the begin of a page; null if it has none, and for a null segment. Context: any. Suspends: no. Errors: none.
void* dovetail_rma_segment_data(const dovetail_rma_segment* segment);
/// Bytes; 0 for a null segment. Context: any. Suspends: no. Errors: none.
size_t dovetail_rma_segment_size(const dovetail_rma_segment* segment);
/// Its number, the same in all processes. Context: any. Suspends: no. Errors: -EINVAL.
int32_t dovetail_rma_segment_id(const dovetail_rma_segment* segment);
/// How many notifications it has in this process; 0 for a null segment. Context: any. Suspends: no. Errors: none.
uint32_t dovetail_rma_segment_notifications(const dovetail_rma_segment* segment);

// Moving data --------------------------------------------------------------------------------------------------------
// Within a node the data has been moved when these return. To another node, a write of more than 4096 bytes in a task is bound to the task. The data
// must neither change nor go before the task has completed. Outside of tasks it blocks until it has been sent. A read from another node suspends the
// task. Errors beside those at the top: -EFAULT where memory of the program's own on this node is not mapped any more; a part may have been moved
// then.

/// Writes `bytes` to a place. `data` may be null if there are none. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_write(const void* data, size_t bytes, int32_t rank, uint32_t segment, int64_t offset);
/// Reads `bytes` from a place. `data` may be null if there are none. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_read(void* data, size_t bytes, int32_t rank, uint32_t segment, int64_t offset);
/// Writes all parts, or none if one of them is wrong. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_write_list(const dovetail_rma_transfer* parts, size_t count);
/// Reads all parts, or none if one of them is wrong. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_read_list(const dovetail_rma_transfer* parts, size_t count);

// Notifying ----------------------------------------------------------------------------------------------------------
// A notification in a task is bound to the task. If the other process has not taken the last 4096 notifications of this one, the task completes when
// there is room. Outside of tasks the call blocks until then.

/// Notifies a rank. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_notify(int32_t rank, uint32_t segment, uint32_t id, uint32_t value);
/// Writes, and notifies the rank of the same segment. `data` may be null if there are no bytes. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_write_notify(const void* data, size_t bytes, int32_t rank, uint32_t segment, int64_t offset,
                                  uint32_t id, uint32_t value);
/// Writes all parts, which are to one rank, and notifies it of the segment of the last one. Context: any. Suspends: no. Errors: see the top;
/// -EINVAL for no part.
int32_t dovetail_rma_write_list_notify(const dovetail_rma_transfer* parts, size_t count, uint32_t id, uint32_t value);

// Waiting ------------------------------------------------------------------------------------------------------------
// For notifications of this process. Each is taken once, and one task at a time waits for it.

/// The task completes when the notification has come; in `onready`, its body begins then. `value` may be null; it lives until then. Context: the
/// body of a task, and `onready`. Suspends: no. Errors: see the top.
int32_t dovetail_rma_notify_await(const dovetail_rma_segment* segment, uint32_t id, uint32_t* value, int32_t from);
/// The same for all `count` from `first` on. `values` may be null; else it has `count` elements. Context: the body of a task, and `onready`.
/// Suspends: no. Errors: see the top.
int32_t dovetail_rma_notify_awaitall(const dovetail_rma_segment* segment, uint32_t first, uint32_t count,
                                     uint32_t* values, int32_t from);
/// Waits for a notification. `value` may be null. Context: wait. Suspends: yes. Errors: see the top.
int32_t dovetail_rma_notify_wait(const dovetail_rma_segment* segment, uint32_t id, uint32_t* value, int32_t from);
/// Waits for the first of `count` from `first` on. `value` may be null. Context: wait. Suspends: yes. Errors: see the top.
int32_t dovetail_rma_notify_wait_any(const dovetail_rma_segment* segment, uint32_t first, uint32_t count, uint32_t* id,
                                     uint32_t* value, int32_t from);
/// Takes a notification that has come: 1; else 0, and never waits. `value` may be null. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_notify_test(const dovetail_rma_segment* segment, uint32_t id, uint32_t* value);

// Atomic operations --------------------------------------------------------------------------------------------------
// On 8 bytes of any process, in a segment that was allocated, at an offset that is a multiple of 8. Sequentially consistent, among each other and with atomic operations of the
// owner. Additions wrap.

/// Adds. `*before` is what was there. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_fetch_add(int32_t rank, uint32_t segment, int64_t offset, int64_t added, int64_t* before);
/// Stores `wanted` if `expected` is there. `*before` is what was there. Context: any. Suspends: no. Errors: see the top.
int32_t dovetail_rma_compare_swap(int32_t rank, uint32_t segment, int64_t offset, int64_t expected, int64_t wanted,
                                  int64_t* before);

// Inbox --------------------------------------------------------------------------------------------------------------
// A rank takes the next message of any rank: passive communication. It is for rare messages whose sender the receiver does not know before.

/// Called by all processes at the same time, in the same order as segments, of which it is one, and with the same options; blocks. `bytes`: of the longest
/// message, at most 4096 (1024 is usual). So many `messages` of each sender lie there until they are taken, at most 1024 (4 is usual). `*inbox` belongs
/// to the group, and ends with it. Context: wait. Suspends: no. Errors: as for a segment.
int32_t dovetail_rma_inbox_open(dovetail_rma_group* group, uint32_t bytes, uint32_t messages,
                                dovetail_rma_inbox** inbox);
/// Sends `bytes`, which have been copied when it returns. Suspends while the rank has not taken the last `messages` of this process. `data` may be null if
/// there are none. Context: wait. Suspends: yes. Errors: see the top; -EINVAL for a message that is too long.
int32_t dovetail_rma_inbox_send(const dovetail_rma_inbox* inbox, const void* data, size_t bytes, int32_t rank);
/// Takes a message of whatever rank; suspends until there is one. `data` has room for `bytes`; it may be null if that is 0. `*rank` is the sender, and
/// `*received` the size of the message. Context: wait. Suspends: yes. Errors: see the top; -EINVAL for a message that does not fit, which stays.
int32_t dovetail_rma_inbox_receive(const dovetail_rma_inbox* inbox, void* data, size_t bytes, int32_t* rank,
                                   size_t* received);
/// Takes one that has come, if no other task waits for it: 1; else 0, and never waits. Context: any. Suspends: no. Errors: as above.
int32_t dovetail_rma_inbox_try_receive(const dovetail_rma_inbox* inbox, void* data, size_t bytes, int32_t* rank,
                                       size_t* received);

#ifdef __cplusplus
}
#endif

#endif
