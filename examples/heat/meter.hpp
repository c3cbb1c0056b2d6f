/// @file
/// Where the time went, measured by the program itself, so that all variants are measured in one way.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace heat {

/// Adds up computing, I/O, and the time of both together. All members may be called from any thread and none suspends.
class Meter {
 public:
  using Clock = std::chrono::steady_clock;

  /// A body begins to compute, or ends. It does nothing else in between.
  void begin_compute();
  void end_compute();
  /// An I/O operation is about to be asked for.
  void begin_io();
  /// An I/O operation has ended; `written` bytes were transferred.
  void end_io(std::uint64_t written);

  /// Seconds that bodies computed, added over all workers; of those that have ended or begun since, up to the last change.
  double compute_seconds() const { return seconds(compute_); }
  /// Seconds of wall time during which at least one I/O operation was in flight.
  double io_seconds() const { return seconds(busy_); }
  /// Of these, the seconds during which at least one body computed.
  double hidden_seconds() const { return seconds(hidden_); }
  /// Bytes written.
  std::uint64_t bytes_written() const;

 private:
  void change(unsigned& count, int by);
  double seconds(const Clock::duration& time) const;

  mutable std::mutex mutex_;
  unsigned computing_ = 0;
  unsigned in_flight_ = 0;
  Clock::time_point changed_;
  Clock::duration compute_{0};
  Clock::duration busy_{0};
  Clock::duration hidden_{0};
  std::uint64_t written_ = 0;
};

/// Counts the time of a scope as computing.
class ComputeScope {
 public:
  explicit ComputeScope(Meter& meter) : meter_(meter) { meter_.begin_compute(); }
  ~ComputeScope() { meter_.end_compute(); }
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  Meter& meter_;
};

}  // namespace heat
