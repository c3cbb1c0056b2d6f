/// @file
/// Recording of what workers, tasks and I/O did, and what it says about overlap. Recording that is off costs one branch.
#pragma once

#include <cstdint>
#include <string>

namespace dovetail::trace {

/// What a recording says about overlap. Times in seconds.
///
/// A worker *computes* while a body runs on it and uses the processor. Time that a body spends blocked in the operating system, in a plain `fsync`
/// say, or waiting for a processor, is not computing. This is measured for slices of a millisecond and more; shorter ones count whole. Where in a
/// slice its processor time lies is not known: it counts as spread evenly, and workers as independent.
///
/// An I/O operation is *in flight* while a request of Dovetail's is, or while the body of an I/O task runs.
///
/// A message between processes is *outstanding* from the call of a task that starts it, or waits for it, until it has ended. These are messages and
/// collectives of MPI that tasks wait for or are bound to, and waits for notifications.
///
/// I/O is *hidden* in the time in which at least one operation is in flight and at least one worker computes. Communication is hidden in the
/// time in which a message is outstanding and a worker computes. This is what "hidden" means wherever Dovetail says it: here, in traces, in reports and
/// in the examples.
struct Summary {
  double total = 0;          ///< From `start` to `stop` (or to now).
  double compute = 0;        ///< Time that workers computed, divided by the number of workers.
  double computing = 0;      ///< Time during which at least one worker computed.
  double blocked = 0;        ///< Time that bodies held a worker without computing, divided by the number of workers.
  double io = 0;             ///< Time during which at least one I/O operation was in flight.
  double hidden = 0;         ///< Time during which both: I/O was in flight and a worker computed.
  double communication = 0;  ///< Time during which at least one message was outstanding.
  double communication_hidden = 0;  ///< Time during which both: a message was outstanding and a worker computed.
  double bytes_read = 0;            ///< Bytes read.
  double bytes_written = 0;         ///< Bytes written.
  unsigned workers = 0;             ///< Compute workers that recorded something.
  /// Events that are missing because a thread recorded more than it keeps (2^19 events, or as many as `DOVETAIL_TRACE_EVENTS` says). If
  /// there are any, all figures are about the later part of the recording, from where nothing is missing. `total` is the length of that
  /// part.
  std::uint64_t lost = 0;
  /// hidden / io, from 0 to 1; 0 when there was no I/O.
  double hidden_share() const noexcept;
  /// communication_hidden / communication, from 0 to 1; 0 when no message was outstanding.
  double communication_hidden_share() const noexcept;
};

/// Begins to record in all threads; forgets what was recorded before. A process that forks records nothing in the child.
/// From any thread; does not suspend. @throws std::bad_alloc.
void start();
/// Ends recording. The recording stays until the next `start`. From any thread; does not suspend.
void stop();
/// Whether recording is on. From any thread; does not suspend.
bool recording() noexcept;
/// Totals of the recording so far. From any thread, also while tasks run: these count up to now, requests in flight
/// too, but not their bytes. Does not suspend, and takes time in proportion to the events. @throws std::bad_alloc.
Summary summarize();
/// Writes the recording as Chrome trace JSON, which Perfetto and chrome://tracing open. A program of several processes writes a file in each; `dovetail
/// trace join` makes one of them (docs/report.md). From any thread, also while tasks run. Does not suspend: the calling worker is blocked until the file is written.
/// @throws std::system_error naming the file; std::bad_alloc.
void write(const std::string& path);

}  // namespace dovetail::trace
