// What the other rooms call to record an event. While recording is off, a call is one load and one branch. While it is on, it appends one event to
// a buffer that only the calling thread writes.
//
// Any thread may call the functions that record. They never suspend, throw, or wait for a reader of the recording. The first event of a thread
// and a name seen for the first time take a lock and allocate. Names are copied: the text behind a `string_view` need not outlive the call.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "dovetail/trace.hpp"
#include "trace/event.hpp"

namespace dovetail::trace {

/// What a thread is for. Only slices on `worker` threads count as computation.
enum class ThreadKind : std::uint8_t { other, worker, executor };

/// Which way a request moves bytes. `none` for requests such as fsync, whose result is not a number of bytes. `ahead`: into the page cache, before the
/// program reads them. It counts neither as in flight nor as read: the program's own read does.
enum class Transfer : std::uint8_t { none, read, write, ahead };

namespace detail {
/// Twice the number of the recording, plus one while it runs. Written by `start` and `stop`, under their lock.
extern std::atomic<std::uint64_t> state;
/// Whether the recording has the accesses of all tasks. Written by `start`.
extern std::atomic<bool> has_accesses;

void record(Kind kind, std::uint64_t id) noexcept;
void record_named(Kind kind, std::uint64_t id, std::string_view name) noexcept;
void record_begin(Kind kind, std::uint64_t id, std::string_view name) noexcept;
void record_end(Kind kind, std::uint64_t id, std::string_view name) noexcept;
void record_failed(std::uint64_t id, std::string_view label, std::string_view reason) noexcept;
void record_waited(std::uint64_t since, std::string_view reason) noexcept;
std::uint64_t wait_begins() noexcept;
void record_range(Kind kind, std::uint64_t id, std::string_view operation, std::string_view file, std::uint64_t bytes,
                  std::uint64_t offset) noexcept;
void record_completed(std::uint64_t id, std::int64_t result) noexcept;
void record_message(std::uint64_t message, std::uint64_t task, std::string_view call) noexcept;
void record_pair(Kind kind, std::uint64_t id, Pair pair, std::string_view channel, std::uint64_t bytes = 0) noexcept;
}  // namespace detail

/// Whether events are being recorded. For callers that would have to compute what they pass.
inline bool enabled() noexcept { return (detail::state.load(std::memory_order_relaxed) & 1) != 0; }

/// Whether the accesses of all tasks are recorded, from which their order follows (`DOVETAIL_TRACE_ACCESSES=1`). Else only those of named spaces are.
inline bool records_accesses() noexcept { return enabled() && detail::has_accesses.load(std::memory_order_relaxed); }

/// A number for a task or request, out of its address. A number may be used again once the task has completed, or the
/// request has.
inline std::uint64_t number_of(const void* object) noexcept { return reinterpret_cast<std::uintptr_t>(object); }

/// Says what the calling thread is, for as long as it lives. Worker and executor threads call it first of all, whether or not recording is on.
/// Allocates nothing.
void thread_name(ThreadKind kind, unsigned index) noexcept;

/// @name A task
/// A *slice* is what lies between `started` or `resumed` and the next `paused` or `returned` of the same task, on one
/// thread. Slices may nest: a task that runs its children while it waits need not be paused. A body that throws
/// returns, too: `failed` goes with `returned`, it does not stand for it.
/// @{
inline void created(std::uint64_t task) noexcept {
  if (enabled()) detail::record(Kind::created, task);
}
/// The accesses of the task are free.
inline void dependencies_met(std::uint64_t task) noexcept {
  if (enabled()) detail::record(Kind::dependencies_met, task);
}
/// The task is one that uses a region of a space that has a name. `mode` is a word such as "inout".
inline void accessed(std::uint64_t task, std::string_view mode, std::string_view space, std::uint64_t begin,
                     std::uint64_t length) noexcept {
  if (enabled()) detail::record_range(Kind::accessed, task, mode, space, length, begin);
}
/// The task may run: for the first time, or again after a pause.
inline void ready(std::uint64_t task) noexcept {
  if (enabled()) detail::record(Kind::ready, task);
}
/// The body begins on the calling thread.
inline void started(std::uint64_t task, std::string_view label) noexcept {
  if (enabled()) detail::record_begin(Kind::started, task, label);
}
/// The calling thread leaves the task, which waits for `reason`. Called before the task can be resumed elsewhere.
inline void paused(std::uint64_t task, std::string_view reason) noexcept {
  if (enabled()) detail::record_end(Kind::paused, task, reason);
}
/// The task goes on, on the calling thread.
inline void resumed(std::uint64_t task) noexcept {
  if (enabled()) detail::record_begin(Kind::resumed, task, {});
}
/// The body has ended, by `return` or by an exception.
inline void returned(std::uint64_t task) noexcept {
  if (enabled()) detail::record_end(Kind::returned, task, {});
}
inline void completed(std::uint64_t task) noexcept {
  if (enabled()) detail::record(Kind::completed, task);
}
/// The task has failed, or was cancelled and never began. `reason` is shown in the timeline, at most 1 000 bytes of it.
inline void failed(std::uint64_t task, std::string_view label = {}, std::string_view reason = {}) noexcept {
  if (enabled()) detail::record_failed(task, label, reason);
}
/// @}

/// @name A wait inside of a slice
/// For something that has a name and that the thread blocks for. Waits of less than some ten microseconds are not kept.
/// @{
inline std::uint64_t wait_begins() noexcept { return enabled() ? detail::wait_begins() : 0; }
/// @param since What `wait_begins` gave, on this thread.
inline void waited(std::uint64_t since, std::string_view reason) noexcept {
  if (since != 0 && enabled()) detail::record_waited(since, reason);
}
/// @}

/// @name A worker with nothing to do
/// Around sleeping in the kernel, on the thread that sleeps.
/// @{
inline void idle_begin() noexcept {
  if (enabled()) detail::record(Kind::idle_begin, 0);
}
inline void idle_end() noexcept {
  if (enabled()) detail::record(Kind::idle_end, 0);
}
/// @}

/// @name A request in flight
/// Begins and ends on any threads. `operation` is a short word such as "pread", of which a program has few. `file` is the name that the timeline
/// shows. `io_submitted` comes before the request is passed to an engine, which might complete it at once.
/// @{
inline void io_submitted(std::uint64_t request, Transfer transfer, std::string_view operation, std::string_view file,
                         std::uint64_t bytes, std::uint64_t offset) noexcept {
  if (enabled())
    detail::record_range(static_cast<Kind>(static_cast<unsigned>(Kind::io_submitted) + static_cast<unsigned>(transfer)),
                         request, operation, file, bytes, offset);
}
/// @param result Bytes moved (0 for other operations), or a negative errno.
inline void io_completed(std::uint64_t request, std::int64_t result) noexcept {
  if (enabled()) detail::record_completed(request, result);
}
/// @}

/// @name A message between processes
/// It is *outstanding* from `message_begun` to `message_ended`, which come on any threads. `message` is a number that no other outstanding one has.
/// What is posted between two processes in one channel with one tag is received in the order in which it is posted; a trace of all processes
/// connects both ends by that. So `channel` is called the same in all of them, and a peer is the number of a process.
/// @{
/// `call` is a short word such as "MPI_Recv". `task`: whose message it is; 0: of no task.
inline void message_begun(std::uint64_t message, std::uint64_t task, std::string_view call) noexcept {
  if (enabled()) detail::record_message(message, task, call);
}
/// It takes its place among the messages to `peer`. `bytes`: 0 where that is not known.
inline void send_posted(std::uint64_t message, std::string_view channel, std::uint32_t peer, std::uint32_t tag,
                        std::uint64_t bytes = 0) noexcept {
  if (enabled()) detail::record_pair(Kind::send_posted, message, {peer, tag}, channel, bytes);
}
/// It takes its place among those that take messages. Which it takes is said at its end.
inline void receive_posted(std::uint64_t message, std::string_view channel) noexcept {
  if (enabled()) detail::record_pair(Kind::receive_posted, message, {unknown_number, unknown_number}, channel);
}
/// Before its task is told. `peer` and `tag` are those of what has been received; of all else they say nothing.
inline void message_ended(std::uint64_t message, std::uint32_t peer = unknown_number,
                          std::uint32_t tag = unknown_number) noexcept {
  if (enabled()) detail::record_pair(Kind::message_ended, message, {peer, tag}, {});
}
/// @}

/// @name A signal between processes: a message without a wait of its own
/// It is kept where it arrives until a task takes it. Those of one process to another with one identifier are taken in the order in which they are sent.
/// @{
/// `task`: which sends it; 0: none. `bytes`: of the data that it says have come; 0 where it comes alone.
inline void signal_sent(std::uint64_t task, std::string_view channel, std::uint32_t peer, std::uint32_t identifier,
                        std::uint64_t bytes = 0) noexcept {
  if (enabled()) detail::record_pair(Kind::signal_sent, task, {peer, identifier}, channel, bytes);
}
inline void signal_arrived(std::string_view channel, std::uint32_t peer, std::uint32_t identifier) noexcept {
  if (enabled()) detail::record_pair(Kind::signal_arrived, 0, {peer, identifier}, channel);
}
/// Goes with `message_begun`, which it follows: the message is a wait for signals, `count` of them from `first` on. When it ends, it takes those that
/// have arrived; or only the one that `message_ended` gives as the tag.
inline void signals_awaited(std::uint64_t message, std::string_view channel, std::uint32_t first,
                            std::uint32_t count) noexcept {
  if (enabled()) detail::record_pair(Kind::signals_awaited, message, {first, count}, channel);
}
/// @}

/// Sees whether `write` could write there, before there is something to lose; makes the file if there is none. May block.
/// @throws std::system_error naming the file; nothing else here throws.
void require_writable(const std::string& path);

}  // namespace dovetail::trace
