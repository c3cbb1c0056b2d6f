#include "storage/learner.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "base/clock.hpp"

namespace dovetail::storage {
namespace {

constexpr std::uint32_t settling = 32;                 // Requests at the start of an epoch that do not count,
constexpr std::uint64_t settling_microseconds = 1000;  // nor those of the time after them.
constexpr std::uint32_t fewest = 64;                   // Requests that are measured at least,
constexpr std::uint32_t enough = 1024;                 // and at most,
constexpr std::uint64_t microseconds = 5000;           // or when so much time has passed.
constexpr std::uint32_t persistence = 64;              // Requests whose greatest load is the load.
constexpr std::uint64_t first_rest = 16384;
constexpr std::uint64_t rests_for_each = 8;  // Requests at rest for each one of a look, at least.
constexpr std::uint64_t longest_rest = std::uint64_t{1} << 20;

// Executors cost more of the processor than a ring does: they must be clearly faster. So must another depth be, or the choice
// would follow the noise.
constexpr double threads_must_win = 1.10;
constexpr double others_must_win = 1.05;
// Less depth is welcome for its own sake, as long as it hardly costs anything and others would wait for longer than this.
constexpr double may_lose = 0.98;
constexpr double long_queue = 10'000;  // microseconds
// What is farther from the best is left out of three looks in four,
constexpr double hopeless = 0.8;
constexpr unsigned looks_of_all = 4;
// unless the rate has become another meanwhile.
constexpr double usual_change = 1.25;
constexpr unsigned deepest_ring = 1024;
constexpr unsigned deepest_threads = 64;

template <std::size_t n>
double median(std::array<double, n> values) {
  std::sort(values.begin(), values.end());
  return values[n / 2];
}

// Bytes per microsecond.
double rate_since(std::uint64_t begun, std::uint64_t now, std::uint64_t bytes) noexcept {
  const double time = static_cast<double>(now - begun) / static_cast<double>(base::ticks_per_microsecond());
  return static_cast<double>(bytes) / std::max(time, 1e-3);
}

bool has_changed(const Learner::Finding& finding, double rate) noexcept {
  const double usual = std::max(finding.found_rate, finding.rate[finding.best]);
  return rate > usual * usual_change || rate * usual_change < usual;
}

}  // namespace

Learner::Learner(const std::array<Route, candidates>& routes, bool fixed) noexcept
    : routes_(routes), fixed_(fixed), current_(routes[0]) {
  for (State& state : states_) {
    state.next_rest = first_rest;
    state.trial = routes_;
    state.finding.route = routes_[0];
  }
}

Learner::Load Learner::load_of(unsigned outstanding) noexcept {
  return outstanding >= many_from ? many : outstanding >= some_from ? some : light;
}

void Learner::adopt(const Learner& other) noexcept {
  for (unsigned load = light; load < loads; ++load) {
    const State& theirs = other.states_[load];
    if (theirs.finding.known) {
      states_[load].finding = theirs.finding;
      states_[load].rest = states_[load].next_rest = theirs.next_rest;
    }
  }
}

void Learner::ended(std::uint64_t now, std::uint64_t bytes, unsigned outstanding) noexcept {
  if (fixed_) {
    return;
  }
  // The request that has ended was part of the load. Completions come in crowds, at whose ends there seems to be little load.
  most_outstanding_ = std::max(most_outstanding_, outstanding + 1);
  if (++load_seen_ >= persistence) {
    const Load load = load_of(std::exchange(most_outstanding_, 0));
    load_seen_ = 0;
    if (load != load_) {
      enter(load, now);
      return;
    }
  }
  if (load_ == light) {
    return;
  }
  State& state = states_[load_];
  if (state.rest > 0) {
    bytes_ += bytes;
    --state.rest;
    if (state.rest == 0 || state.rest == state.check_at) {
      const bool changed = has_changed(state.finding, rate_since(begun_, now, bytes_));
      if (state.rest == 0 || changed) {
        state.rest = 0;
        begin_look(state, changed, now);
      }
    }
    return;
  }
  ++seen_;
  ++state.spent;
  // Both ends of an epoch wait for a moment, so that they fall on the first of a crowd: the one at its beginning counts, and the one at
  // its end does not. Otherwise a crowd would count for a gap that it does not fill, and deep queues come in large ones.
  if (!measures_) {
    if (seen_ == settling) {
      begun_ = now;
    } else if (seen_ > settling && now - begun_ >= settling_microseconds * base::ticks_per_microsecond()) {
      measures_ = true;
      seen_ = 0;
      begun_ = now;
      bytes_ = bytes;
    }
  } else if (epoch_over(now)) {
    end_epoch(now);
  } else {
    bytes_ += bytes;
  }
}

void Learner::enter(Load load, std::uint64_t now) noexcept {
  load_ = load;
  State& state = states_[load];
  begin_epoch(now);
  current_ = state.rest > 0 || load == light ? state.finding.route : state.trial[state.candidate];
}

void Learner::begin_epoch(std::uint64_t now) noexcept {
  measures_ = false;
  seen_ = 0;
  begun_ = now;
  bytes_ = 0;
}

bool Learner::epoch_over(std::uint64_t now) const noexcept {
  return seen_ >= enough || (seen_ >= fewest && now - begun_ >= microseconds * base::ticks_per_microsecond());
}

void Learner::end_epoch(std::uint64_t now) noexcept {
  State& state = states_[load_];
  state.rates[state.candidate][state.round] = rate_since(begun_, now, bytes_);
  state.finding.bytes = static_cast<double>(bytes_) / seen_;
  do {
    if (++state.candidate == candidates) {
      state.candidate = 0;
      if (++state.round == rounds) {
        decide(state);
        begin_epoch(now);
        return;
      }
    }
  } while (state.left_out[state.candidate]);
  current_ = state.trial[state.candidate];
  begin_epoch(now);
}

void Learner::begin_look(State& state, bool changed, std::uint64_t now) noexcept {
  const Finding& finding = state.finding;
  const double best = finding.rate[finding.best];
  ++state.looks;
  for (std::size_t i = 0; i < candidates; ++i) {
    state.left_out[i] = !changed && state.looks % looks_of_all != 0 && finding.rate[i] < best * hopeless;
    state.rates[i].fill(finding.rate[i]);
  }
  state.candidate = 0;
  while (state.left_out[state.candidate]) {
    ++state.candidate;
  }
  begin_epoch(now);
  current_ = state.trial[state.candidate];
}

void Learner::decide(State& state) noexcept {
  state.round = 0;
  state.candidate = 0;
  if (state.seeks_depth) {
    decide_depth(state);
  } else {
    decide_way(state);
  }
}

// Rates of a device that others use vary by more than what threads must win by: the median of a few is too often lucky.
bool Learner::wins_every_round(const State& state, std::size_t one, std::size_t other) noexcept {
  return std::equal(state.rates[one].begin(), state.rates[one].end(), state.rates[other].begin(), std::greater<>());
}

void Learner::decide_way(State& state) noexcept {
  Finding& finding = state.finding;
  for (std::size_t i = 0; i < candidates; ++i) {
    finding.rate[i] = median(state.rates[i]);
  }
  state.best_rate = *std::max_element(finding.rate.begin(), finding.rate.end());
  std::uint8_t best = 0;
  double mark = finding.rate[0];
  for (std::uint8_t i = 1; i < candidates; ++i) {
    const Route& route = routes_[i];
    const bool to_threads = route.threads && !routes_[best].threads;
    const bool to_short_queue =
        !route.threads && !routes_[best].threads && route.depth > routes_[best].depth && !queue_is_long(state, route);
    const double needed = to_threads ? threads_must_win : to_short_queue ? 1 / others_must_win : others_must_win;
    if (finding.rate[i] > mark * needed && (!to_threads || wins_every_round(state, i, best))) {
      best = i;
      mark = std::max(mark, finding.rate[i]);
    }
  }
  const bool depth_stays = finding.known && finding.best == best && state.left_out != decltype(state.left_out){};
  finding.best = best;
  finding.known = true;
  state.left_out = {};
  if (depth_stays) {
    rest(state);
    return;
  }
  finding.route = routes_[best];
  state.seeks_depth = true;
  state.direction = 0;
  state.best_rate = mark;
  seek_depth(state, routes_[best]);
  current_ = state.trial[0];
}

// Whether the device needs long for what it is given at once by this route.
bool Learner::queue_is_long(const State& state, Route route) noexcept {
  return route.depth * state.finding.bytes > long_queue * state.best_rate;
}

void Learner::seek_depth(State& state, Route route) noexcept {
  const unsigned deepest = route.threads ? deepest_threads : deepest_ring;
  state.trial = {route, route, route};
  state.trial[1].depth = static_cast<std::uint16_t>(std::min(unsigned{route.depth} * 2, deepest));
  if (queue_is_long(state, route)) {
    state.trial[2].depth = static_cast<std::uint16_t>(std::max(unsigned{route.depth} / 2, 1U));
  }
}

void Learner::decide_depth(State& state) noexcept {
  std::array<double, candidates> rate{};
  for (std::size_t i = 0; i < candidates; ++i) {
    rate[i] = median(state.rates[i]);
    state.best_rate = std::max(state.best_rate, i == 2 ? 0 : rate[i]);
  }
  const auto& [same, twice, half] = state.trial;
  if (state.direction >= 0 && twice != same && rate[1] >= rate[0] * others_must_win) {
    state.direction = 1;
    state.finding.found_rate = rate[1];
    state.finding.route = twice;
    seek_depth(state, Route(twice));
  } else if (state.direction <= 0 && half != same && rate[2] >= std::max(rate[0], state.best_rate) * may_lose) {
    state.direction = -1;
    state.finding.found_rate = rate[2];
    state.finding.route = half;
    seek_depth(state, Route(half));
  } else {
    state.finding.found_rate = rate[0];
    state.finding.route = same;
    rest(state);
    return;
  }
  current_ = state.trial[0];
}

void Learner::rest(State& state) noexcept {
  state.seeks_depth = false;
  state.trial = routes_;
  state.rest = std::max(state.next_rest, rests_for_each * std::exchange(state.spent, 0));
  state.check_at = state.rest - state.next_rest;
  state.next_rest = std::min(longest_rest, state.next_rest * 2);
  current_ = state.finding.route;
}

std::string Learner::explain() const {
  static constexpr const char* names[] = {"fewer than 4 at once", "4 to 31 at once", "32 or more at once"};
  std::string text;
  for (unsigned load = light; load < loads; ++load) {
    const Finding& finding = states_[load].finding;
    text += std::string("  ") + names[load] + ": ";
    const Route& route = finding.route;
    text += route.threads ? "threads" : "ring";
    text += ", depth " + std::to_string(route.depth);
    if (!finding.known) {
      text += fixed_ ? " (the engine was forced)" : " (not measured)";
    } else {
      text += " (MB/s:";
      for (std::size_t i = 0; i < candidates; ++i) {
        char number[64];
        std::snprintf(number, sizeof number, "%s %s at %u: %.0f", i == 0 ? "" : ",",
                      routes_[i].threads ? "threads" : "ring", unsigned{routes_[i].depth}, finding.rate[i]);
        text += number;
      }
      if (finding.found_rate > 0) {
        char number[96];
        std::snprintf(number, sizeof number, "; by doubling and halving, %u: %.0f", unsigned{route.depth},
                      finding.found_rate);
        text += number;
      }
      text += ")";
    }
    text += "\n";
  }
  return text;
}

}  // namespace dovetail::storage
