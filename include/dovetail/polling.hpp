/// @file
/// Polling services: how a library whose operations can only be asked "are you done?" becomes a source of events
/// (`tagaspi.txt`, section V-B, with the adaptive rate that it leaves as future work).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace dovetail {
class Runtime;

/// How often a service is polled while it has something pending.
struct PollingRate {
  /// Shortest time between two polls.
  std::chrono::nanoseconds shortest{std::chrono::microseconds(5)};
  /// Longest time between two polls; the rate adapts between the two by what polls find. Equal values fix the rate.
  std::chrono::nanoseconds longest{std::chrono::microseconds(500)};
};

/// A function that workers call now and then, only while something is pending. One call at a time; the function runs
/// outside of any task, must not suspend, and usually calls `Events::fulfill`. Nothing pending costs nothing.
class PollingService {
 public:
  /// Registers `poll`, which returns how many pending operations it found completed.
  PollingService(Runtime& runtime, std::string label, PollingRate rate, std::function<std::size_t()> poll);
  /// Unregisters. Waits for a running poll. Nothing may be pending.
  ~PollingService();
  PollingService(const PollingService&) = delete;
  PollingService& operator=(const PollingService&) = delete;

  /// Says that `count` more operations are pending. From any thread.
  void add_pending(std::size_t count = 1);
  /// Operations that are pending.
  std::size_t pending() const noexcept;
  /// The time between polls that is in use.
  std::chrono::nanoseconds interval() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dovetail
