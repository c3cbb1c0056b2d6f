// How the requests of one kind are performed on one device: by a ring or by threads, and how many at once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/process_mutex.hpp"
#include "device/level.hpp"

namespace dovetail::device {

/// Requests of a device that are alike.
enum RequestKind : std::uint8_t {
  buffered_read_small,
  buffered_read_large,
  buffered_write_small,
  buffered_write_large,
  direct_read_small,
  direct_read_large,
  direct_write_small,
  direct_write_large,
  request_kinds,
};

/// Bytes up to which a request is small.
inline constexpr std::uint64_t small_request = 32 * 1024;

/// A way of performing requests.
struct Route {
  bool threads = false;     ///< By executors; else by rings.
  std::uint16_t depth = 0;  ///< Most requests given to the system at once; the others wait.
  friend bool operator==(const Route&, const Route&) = default;
};

/// The way to begin with.
Route first_route(RequestKind kind) noexcept;

/// Finds the way from the requests of the program themselves, once, in two steps. *Ring or threads*: while at least four requests are under
/// way, both are tried in turn, three times; threads must be 10 % faster each time, since they use more of the processor. *Depth*: while
/// more requests are under way than the depth lets through, it is compared with twice and half of it. That is done three times, until
/// neither is better. Twice the depth is better if it moves at least 5 % more. It is also better if it moves hardly less and the device
/// needs at most 10 ms for its requests. The reason is that requests which end together save processor time. Half is better if the device
/// needs longer and loses no more than 2 %. By Little's law half the depth at the same rate is half the latency, for other requests too.
///
/// Thread-safe, save where said otherwise. `route` and `decided` take no lock.
class RequestLevel {
 public:
  /// @param fixed  Nothing is looked for: the first way is the only one.
  explicit RequestLevel(Route first, bool fixed = false) noexcept;

  Route route() const noexcept { return route_.load(std::memory_order_relaxed); }
  /// Nothing is to be found out any more.
  bool decided() const noexcept { return decided_.load(std::memory_order_relaxed); }
  /// A request has ended. `now` in ticks, `outstanding`: under way or waiting, without it.
  void ended(std::uint64_t now, std::uint64_t bytes, unsigned outstanding);
  /// Begins with that depth, if nothing has been looked for yet.
  void begin_with(unsigned depth);

  /// The depth that was found, and its rate; 0: none was.
  Level found() const;

 private:
  static constexpr unsigned rounds = 3;
  static constexpr unsigned most_trials = 3;
  enum class Step : std::uint8_t { way, depth, over };

  unsigned load_needed() const noexcept REQUIRES(mutex_);
  bool load_suffices(std::uint64_t now, unsigned outstanding) noexcept REQUIRES(mutex_);
  void begin_epoch(std::uint64_t now) noexcept REQUIRES(mutex_);
  void end_epoch(std::uint64_t now) noexcept REQUIRES(mutex_);
  void decide() noexcept REQUIRES(mutex_);
  void decide_way() noexcept REQUIRES(mutex_);
  void decide_depth() noexcept REQUIRES(mutex_);
  void compare_depths(Route route, bool halve) noexcept REQUIRES(mutex_);
  double median(unsigned trial) const noexcept REQUIRES(mutex_);
  bool is_long(unsigned depth, double rate) const noexcept REQUIRES(mutex_);

  std::atomic<Route> route_;
  std::atomic<bool> decided_;
  mutable base::ProcessMutex mutex_;
  Step step_ GUARDED_BY(mutex_) = Step::way;
  int direction_ GUARDED_BY(mutex_) = 0;  // In which the depth was changed last.
  unsigned trials_ GUARDED_BY(mutex_) = 2;
  std::array<Route, most_trials> trial_
      GUARDED_BY(mutex_);  // The ways that are compared: ring and threads; or a depth, twice and half of it.
  std::array<std::array<double, rounds>, most_trials> rates_ GUARDED_BY(mutex_){};  // Bytes per microsecond.
  double best_rate_ GUARDED_BY(mutex_) = 0;
  double rate_ GUARDED_BY(mutex_) = 0;  // Of the route that was chosen.
  bool depth_found_ GUARDED_BY(mutex_) = false;
  unsigned round_ GUARDED_BY(mutex_) = 0;
  unsigned current_ GUARDED_BY(mutex_) = 0;  // Of the trials.
  // The load: the most that were under way with one of the latest requests.
  unsigned load_seen_ GUARDED_BY(mutex_) = 0;
  unsigned most_outstanding_ GUARDED_BY(mutex_) = 0;
  bool enough_ GUARDED_BY(mutex_) = false;
  // The epoch: first those requests end that were started the other way, then it is measured.
  bool measures_ GUARDED_BY(mutex_) = false;
  unsigned seen_ GUARDED_BY(mutex_) = 0;
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  double request_bytes_ GUARDED_BY(mutex_) = 0;  // Mean of the last epoch.
};

}  // namespace dovetail::device
