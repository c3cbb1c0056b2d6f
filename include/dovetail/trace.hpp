/// @file
/// Recording of what workers, tasks and I/O did, and what it says about overlap. Recording that is off costs one branch.
#pragma once

#include <string>

namespace dovetail::trace {

/// What a recording says about overlap. Times in seconds.
struct Summary {
  double total = 0;    ///< From `start` to `stop` (or to now).
  double compute = 0;  ///< Time that task bodies ran on compute workers, divided by the number of those workers.
  double io = 0;       ///< Time during which at least one storage operation was in flight.
  double bytes_read = 0;     ///< Bytes read.
  double bytes_written = 0;  ///< Bytes written.
  unsigned workers = 0;      ///< Compute workers that recorded something.
  /// (compute + io - total) / min(compute, io): 1 when the shorter is hidden whole, 0 when nothing overlaps.
  double overlap_efficiency() const noexcept;
};

/// Begins to record in all threads; forgets what was recorded before.
void start();
/// Ends recording. What was recorded stays until the next `start`.
void stop();
/// Whether recording is on.
bool recording() noexcept;
/// Totals of the recording so far. No task should be running.
Summary summarize();
/// Writes the recording as Chrome trace JSON, which Perfetto and chrome://tracing open.
/// @throws std::system_error naming the file.
void write(const std::string& path);

}  // namespace dovetail::trace
