// A device that all waiting callers share equally.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

#include "congestion_law.hpp"

namespace dovetail::devices {

/// Thread-safe.
class ProcessorSharing {
 public:
  /// The law's peak is in bytes per second.
  explicit ProcessorSharing(const CongestionLaw& law) : law_(law) {}

  /// Blocks until the device has drained so many bytes for the caller, besides those of all other callers.
  void drain(double bytes);
  void set_law(const CongestionLaw& law);
  CongestionLaw law() const;
  /// How many drain now, and how many did at most.
  unsigned waiting() const;
  unsigned most_waiting() const;

 private:
  using Clock = std::chrono::steady_clock;
  void advance();
  double speed_of_each() const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  CongestionLaw law_;
  /// What each has had that waited from the beginning: one is done when this has grown by its bytes.
  double drained_for_each_ = 0;
  Clock::time_point last_ = Clock::now();
  std::multiset<double> ends_;  ///< Of those that wait: what `drained_for_each_` is when they are done.
  unsigned most_waiting_ = 0;
};

}  // namespace dovetail::devices
