// The queue of one runtime for the requests of one lane of one device: keeps back what is more than the device should be given
// at once.
#pragma once

#include <mutex>

#include "storage/learned_device.hpp"
#include "storage/learner.hpp"
#include "storage/request.hpp"

namespace dovetail::storage {

/// Thread-safe. The mutex is held for a few instructions.
class RequestLane {
 public:
  RequestLane(LearnedDevice& device, Lane lane, const std::array<Route, Learner::candidates>& routes, bool fixed);

  /// What `enter` did with a request: it may start now, by the way noted in it; it is kept; it was given up already.
  enum class Entry : std::uint8_t { start, kept, cancelled };
  Entry enter(Request& request);
  /// Takes out those of the kept ones that were given up.
  RequestQueue take_cancelled();
  /// The request has ended. Returns those that may start now.
  RequestQueue leave(const Request& request);
  /// For tests and reports.
  Route route() const;

 private:
  void admit(Request& request) noexcept;

  LearnedDevice& device_;
  const Lane lane_;
  mutable std::mutex mutex_;
  Learner learner_;
  unsigned in_flight_ = 0;
  RequestQueue waiting_;
  const bool fixed_;
};

}  // namespace dovetail::storage
