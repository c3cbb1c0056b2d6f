// Finds out, from the requests of the program themselves, which way of performing them is fastest on a device.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace dovetail::storage {

/// A way of performing requests.
struct Route {
  bool threads = false;     ///< By executors; else by rings.
  std::uint16_t depth = 0;  ///< Most requests given to the system at once; the others wait.
  friend bool operator==(const Route&, const Route&) = default;
};

/// For one device and one kind of request. Tries the candidates in turn while the load is steady and keeps the best; then looks
/// for its depth by doubling and halving, keeps what it found, and looks again ever more seldom. Not thread-safe.
///
/// The law of the depth: twice as deep if that moves at least 5 % more; else, while the device needs more than 10 ms for what it was given,
/// half as deep if that moves no more than 2 % less than the best seen, since by Little's law half the depth at the same rate is half the
/// latency; and so on in the same direction until neither is so. A queue that is shorter than that delays nobody, and the deeper it is, the more
/// requests end together, which saves processor time: so of two rings that are as fast the deeper one is taken.
///
/// A look costs what the worse candidates cost. So while the rate stays what it was, the next looks leave out those that were far
/// from the best, and the depth, which is sought again with them.
class Learner {
 public:
  static constexpr std::size_t candidates = 3;
  /// How many requests the program has under way decides which way is best: a few and many are told apart.
  enum Load : std::uint8_t { light, some, many, loads };
  static constexpr unsigned some_from = 4;
  static constexpr unsigned many_from = 32;

  /// The first candidate is used until something better is known. `fixed`: always.
  Learner(const std::array<Route, candidates>& routes, bool fixed) noexcept;

  /// The way to take now.
  Route route() const noexcept { return current_; }
  /// A request has ended. `now` in ticks, `outstanding`: under way or waiting, without it.
  void ended(std::uint64_t now, std::uint64_t bytes, unsigned outstanding) noexcept;
  /// What was found, for people.
  std::string explain() const;

  /// What has been found for one load.
  struct Finding {
    bool known = false;
    std::uint8_t best = 0;
    std::array<double, candidates> rate{};  ///< Bytes per microsecond, median.
    Route route;                            ///< The best candidate at the depth that was found for it,
    double found_rate = 0;                  ///< and its rate; 0: the depth was not looked for.
    double bytes = 0;                       ///< Of a request, mean of the last epoch.
  };
  const Finding& finding(Load load) const noexcept { return states_[load].finding; }
  /// Takes over what another learner of the same candidates has found.
  void adopt(const Learner& other) noexcept;

 private:
  static constexpr unsigned rounds = 3;
  struct State {
    Finding finding;
    std::array<Route, candidates> trial{};  // What is compared now: the candidates; or a depth, twice and half of it.
    bool seeks_depth = false;
    std::int8_t direction = 0;  // In which the depth was changed.
    double best_rate = 0;       // Of all depths that were tried.
    std::array<std::array<double, rounds>, candidates> rates{};
    std::uint8_t round = 0;
    std::uint8_t candidate = 0;
    std::uint64_t rest = 0;       // Requests until the next look.
    std::uint64_t next_rest = 0;  // And how many there will be after it.
    std::uint64_t check_at = 0;   // So many before the next look it is begun if the rate has changed.
    std::uint64_t spent = 0;      // Requests of the look that goes on.
    std::uint8_t looks = 0;
    std::array<bool, candidates> left_out{};  // Of this look.
  };

  static Load load_of(unsigned outstanding) noexcept;
  void enter(Load load, std::uint64_t now) noexcept;
  void begin_epoch(std::uint64_t now) noexcept;
  bool epoch_over(std::uint64_t now) const noexcept;
  void end_epoch(std::uint64_t now) noexcept;
  void begin_look(State& state, bool changed, std::uint64_t now) noexcept;
  void decide(State& state) noexcept;
  void decide_way(State& state) noexcept;
  void decide_depth(State& state) noexcept;
  static bool wins_every_round(const State& state, std::size_t one, std::size_t other) noexcept;
  static bool queue_is_long(const State& state, Route route) noexcept;
  static void seek_depth(State& state, Route route) noexcept;
  void rest(State& state) noexcept;

  std::array<Route, candidates> routes_;
  bool fixed_;
  Route current_;
  Load load_ = light;
  std::uint32_t load_seen_ = 0;    // Requests since the load was last decided,
  unsigned most_outstanding_ = 0;  // and the most that were under way with one of them.
  std::array<State, loads> states_{};
  // The epoch: first those requests end that were started the other way, then it is measured.
  bool measures_ = false;
  std::uint32_t seen_ = 0;
  std::uint64_t begun_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace dovetail::storage
