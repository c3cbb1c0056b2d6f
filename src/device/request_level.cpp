#include "device/request_level.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"

namespace dovetail::device {
namespace {

constexpr unsigned settling = 32;                      // Requests at the start of an epoch that do not count,
constexpr std::uint64_t settling_microseconds = 1000;  // nor those of the time after them.
constexpr unsigned fewest = 64;                        // Requests that are measured at least,
constexpr unsigned enough = 1024;                      // and at most,
constexpr std::uint64_t microseconds = 5000;           // or when so much time has passed.
// Requests whose greatest load is the load: completions come in crowds, at whose ends there seems to be little load.
constexpr unsigned persistence = 64;
constexpr unsigned least_load = 4;  // With fewer at once no way is faster than another.

constexpr double threads_must_win = 1.10;
constexpr double deeper_must_win = 1.05;
constexpr double deeper_may_lose = 0.95;  // A short queue, for the processor time that it saves.
constexpr double shallower_may_lose = 0.98;
constexpr double long_queue = 10'000;  // microseconds
constexpr unsigned deepest_ring = 1024;
constexpr unsigned deepest_threads = 64;
constexpr std::uint16_t depth_of_threads = 16;

}  // namespace

Route first_route(RequestKind kind) noexcept {
  const bool deep = kind == direct_read_small || kind == direct_write_small || kind == buffered_read_small;
  return {false, static_cast<std::uint16_t>(deep ? 256 : 16)};
}

RequestLevel::RequestLevel(Route first, bool fixed) noexcept
    : route_(first), decided_(fixed), trial_{first, Route{true, depth_of_threads}, first} {}

void RequestLevel::begin_with(unsigned depth) {
  const base::LockGuard lock(mutex_);
  if (step_ == Step::way && rate_ == 0 && !decided()) {
    trial_[0].depth = static_cast<std::uint16_t>(std::clamp(depth, 1U, deepest_ring));
    if (current_ == 0) {
      route_.store(trial_[0], std::memory_order_relaxed);
    }
  }
}

unsigned RequestLevel::load_needed() const noexcept { return step_ == Step::way ? least_load : trial_[0].depth + 1U; }

// Looked at for every so many requests. An epoch during which the load was too small does not count.
bool RequestLevel::load_suffices(std::uint64_t now, unsigned outstanding) noexcept {
  most_outstanding_ = std::max(most_outstanding_, outstanding + 1);
  if (++load_seen_ >= persistence) {
    load_seen_ = 0;
    const bool sufficed = std::exchange(enough_, std::exchange(most_outstanding_, 0) >= load_needed());
    if (enough_ != sufficed) {
      begin_epoch(now);
      route_.store(trial_[enough_ ? current_ : 0], std::memory_order_relaxed);
    }
  }
  return enough_;
}

void RequestLevel::ended(std::uint64_t now, std::uint64_t bytes, unsigned outstanding) {
  const base::LockGuard lock(mutex_);
  now = std::max(now, begun_);  // another thread may have looked at the clock later and been here earlier
  if (decided() || !load_suffices(now, outstanding)) {
    return;
  }
  ++seen_;
  // Both ends of an epoch wait for a moment, so that each falls on the first request of a crowd. The crowd at the beginning counts, the
  // one at the end does not. Otherwise a crowd would count for a gap that it does not fill, and in a deep queue crowds are large.
  if (!measures_) {
    if (seen_ == settling) {
      begun_ = now;
    } else if (seen_ > settling && now - begun_ >= settling_microseconds * base::ticks_per_microsecond()) {
      measures_ = true;
      seen_ = 0;
      begun_ = now;
      bytes_ = bytes;
    }
  } else if (seen_ >= enough || (seen_ >= fewest && now - begun_ >= microseconds * base::ticks_per_microsecond())) {
    end_epoch(now);
  } else {
    bytes_ += bytes;
  }
}

void RequestLevel::begin_epoch(std::uint64_t now) noexcept {
  measures_ = false;
  seen_ = 0;
  begun_ = now;
  bytes_ = 0;
}

void RequestLevel::end_epoch(std::uint64_t now) noexcept {
  const double time = static_cast<double>(now - begun_) / static_cast<double>(base::ticks_per_microsecond());
  rates_[current_][round_] = static_cast<double>(bytes_) / std::max(time, 1e-3);
  request_bytes_ = static_cast<double>(bytes_) / seen_;
  if (++current_ == trials_) {
    current_ = 0;
    if (++round_ == rounds) {
      round_ = 0;
      decide();
    }
  }
  route_.store(trial_[current_], std::memory_order_relaxed);
  begin_epoch(now);
}

double RequestLevel::median(unsigned trial) const noexcept {
  auto sorted = rates_[trial];
  std::sort(sorted.begin(), sorted.end());
  return sorted[rounds / 2];
}

void RequestLevel::decide() noexcept { step_ == Step::way ? decide_way() : decide_depth(); }

// Rates of a device that others use vary by more than what threads must win by: the median of a few is too often lucky.
void RequestLevel::decide_way() noexcept {
  bool to_threads = true;
  for (unsigned round = 0; round < rounds; ++round) {
    to_threads = to_threads && rates_[1][round] > rates_[0][round] * threads_must_win;
  }
  best_rate_ = median(to_threads ? 1 : 0);
  step_ = Step::depth;
  compare_depths(trial_[to_threads ? 1 : 0], is_long(trial_[to_threads ? 1 : 0].depth, best_rate_));
  rate_ = best_rate_;
}

// Whether the device needs long for what it is given at once.
bool RequestLevel::is_long(unsigned depth, double rate) const noexcept {
  return depth * request_bytes_ > long_queue * rate;
}

void RequestLevel::compare_depths(Route route, bool halve) noexcept {
  const unsigned deepest = route.threads ? deepest_threads : deepest_ring;
  trial_.fill(route);
  trial_[1].depth = static_cast<std::uint16_t>(std::min(unsigned{route.depth} * 2, deepest));
  trial_[2].depth = static_cast<std::uint16_t>(std::max(unsigned{route.depth} / 2, 1U));
  trials_ = halve ? 3 : 2;
  enough_ = false;  // until there are more under way than this depth lets through
}

void RequestLevel::decide_depth() noexcept {
  const double same = median(0);
  const double twice = median(1);
  const double half = trials_ > 2 ? median(2) : 0;
  best_rate_ = std::max({best_rate_, same, twice});
  const bool is_short = !is_long(trial_[1].depth, twice);
  if (direction_ >= 0 && trial_[1] != trial_[0] &&
      (twice >= same * deeper_must_win || (is_short && twice >= best_rate_ * deeper_may_lose))) {
    direction_ = 1;
    rate_ = twice;
    compare_depths(Route(trial_[1]), false);
  } else if (direction_ <= 0 && trials_ > 2 && trial_[2] != trial_[0] && half >= best_rate_ * shallower_may_lose) {
    direction_ = -1;
    rate_ = half;
    compare_depths(Route(trial_[2]), is_long(trial_[2].depth, half));
  } else {
    rate_ = same;
    step_ = Step::over;
    decided_.store(true, std::memory_order_relaxed);
  }
  depth_found_ = true;
}

Level RequestLevel::found() const {
  const base::LockGuard lock(mutex_);
  return depth_found_ ? Level{trial_[0].depth, rate_} : Level{};  // a byte per microsecond is a MB per second
}

}  // namespace dovetail::device
