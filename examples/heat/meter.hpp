/// @file
/// Where the time went, measured by the program itself, so that all variants are measured in one way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

namespace heat {

/// Adds up computing and I/O. All members may be called from any thread and none suspends.
class Meter {
 public:
  using Clock = std::chrono::steady_clock;

  /// A body computed for this long.
  void add_compute(Clock::duration time) noexcept {
    compute_.fetch_add(std::chrono::nanoseconds(time).count(), std::memory_order_relaxed);
  }
  /// An I/O operation is about to be asked for.
  void begin_io();
  /// An I/O operation has ended; `written` bytes were transferred.
  void end_io(std::uint64_t written);

  /// Seconds that bodies computed, added over all workers.
  double compute_seconds() const noexcept;
  /// Seconds of wall time during which at least one I/O operation was in flight.
  double io_seconds() const;
  /// Bytes written.
  std::uint64_t bytes_written() const;

 private:
  std::atomic<std::int64_t> compute_{0};
  mutable std::mutex mutex_;
  unsigned in_flight_ = 0;
  Clock::time_point busy_since_;
  Clock::duration busy_{0};
  std::uint64_t written_ = 0;
};

/// Counts the time of a scope as computing.
class ComputeScope {
 public:
  explicit ComputeScope(Meter& meter) noexcept : meter_(meter), start_(Meter::Clock::now()) {}
  ~ComputeScope() { meter_.add_compute(Meter::Clock::now() - start_); }
  ComputeScope(const ComputeScope&) = delete;
  ComputeScope& operator=(const ComputeScope&) = delete;

 private:
  Meter& meter_;
  Meter::Clock::time_point start_;
};

}  // namespace heat
