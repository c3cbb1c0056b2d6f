#include "storage/learner.hpp"

#include <algorithm>
#include <cstdio>

#include "base/clock.hpp"

namespace dovetail::storage {
namespace {

constexpr std::uint32_t settling = 32;        // Requests at the start of an epoch that do not count.
constexpr std::uint32_t fewest = 64;          // Requests that are measured at least,
constexpr std::uint32_t enough = 1024;        // and at most,
constexpr std::uint64_t microseconds = 2000;  // or when so much time has passed.
constexpr std::uint32_t persistence = 64;     // Requests after which another load is believed.
constexpr std::uint64_t first_rest = 16384;
constexpr std::uint64_t longest_rest = std::uint64_t{1} << 20;

// Executors cost more of the processor than a ring does: they must be clearly faster. So must another depth be, or the choice
// would follow the noise.
constexpr double threads_must_win = 1.10;
constexpr double others_must_win = 1.05;

template <std::size_t n>
double median(std::array<double, n> values) {
  std::sort(values.begin(), values.end());
  return values[n / 2];
}

}  // namespace

Learner::Learner(const std::array<Route, candidates>& routes, bool fixed) noexcept : routes_(routes), fixed_(fixed) {
  for (State& state : states_) {
    state.next_rest = first_rest;
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
  // The request that has ended was part of the load.
  const Load load = load_of(outstanding + 1);
  if (load != load_) {
    if (++load_hint_ >= persistence) {
      enter(load);
    }
    return;
  }
  load_hint_ = 0;
  if (load_ == light) {
    return;
  }
  State& state = states_[load_];
  if (state.rest > 0) {
    if (--state.rest == 0) {
      begin_epoch();
      current_ = state.candidate = 0;
    }
    return;
  }
  ++seen_;
  if (seen_ == settling) {
    begun_ = now;
    bytes_ = 0;
  } else if (seen_ > settling) {
    bytes_ += bytes;
    if (epoch_over(now)) {
      end_epoch(now);
    }
  }
}

void Learner::enter(Load load) noexcept {
  load_ = load;
  load_hint_ = 0;
  State& state = states_[load];
  begin_epoch();
  current_ = state.rest > 0 || load == light ? state.finding.best : state.candidate;
}

void Learner::begin_epoch() noexcept {
  seen_ = 0;
  bytes_ = 0;
}

bool Learner::epoch_over(std::uint64_t now) const noexcept {
  const std::uint32_t measured = seen_ - settling;
  return measured >= enough || (measured >= fewest && now - begun_ >= microseconds * base::ticks_per_microsecond());
}

void Learner::end_epoch(std::uint64_t now) noexcept {
  State& state = states_[load_];
  const double time = static_cast<double>(now - begun_) / static_cast<double>(base::ticks_per_microsecond());
  state.rates[state.candidate][state.round] = static_cast<double>(bytes_) / std::max(time, 1e-3);
  if (++state.candidate == candidates) {
    state.candidate = 0;
    if (++state.round == rounds) {
      decide(state);
      begin_epoch();
      return;
    }
  }
  current_ = state.candidate;
  begin_epoch();
}

void Learner::decide(State& state) noexcept {
  Finding& finding = state.finding;
  for (std::size_t i = 0; i < candidates; ++i) {
    finding.rate[i] = median(state.rates[i]);
  }
  std::uint8_t best = 0;
  double mark = finding.rate[0];
  for (std::uint8_t i = 1; i < candidates; ++i) {
    const double needed = routes_[i].threads && !routes_[best].threads ? threads_must_win : others_must_win;
    if (finding.rate[i] > mark * needed) {
      best = i;
      mark = finding.rate[i];
    }
  }
  finding.best = best;
  finding.known = true;
  state.rest = state.next_rest;
  state.next_rest = std::min(longest_rest, state.next_rest * 2);
  state.round = 0;
  current_ = best;
}

std::string Learner::explain() const {
  static constexpr const char* names[] = {"fewer than 4 at once", "4 to 31 at once", "32 or more at once"};
  std::string text;
  for (unsigned load = light; load < loads; ++load) {
    const Finding& finding = states_[load].finding;
    text += std::string("  ") + names[load] + ": ";
    const Route& route = routes_[finding.best];
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
      text += ")";
    }
    text += "\n";
  }
  return text;
}

}  // namespace dovetail::storage
