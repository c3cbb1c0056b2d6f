// Where one worker sleeps when it has nothing to do: in the service that parks workers, or else on a word of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace dovetail::tasking {

class Service;

class Sleeper {
 public:
  /// `parking` may be null.
  Sleeper(Service* parking, unsigned worker) noexcept : parking_(parking), worker_(worker) {}
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  /// Sleeps until `unpark` is called, or has been called since the last `park`, or until the deadline (time_point::max(): none). May
  /// return early. For the worker alone.
  void park(base::TimePoint deadline);
  /// Ends the present or next `park`. Any thread.
  void unpark() noexcept;

 private:
  Service* const parking_;
  const unsigned worker_;
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace dovetail::tasking
