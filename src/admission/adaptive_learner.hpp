// `adaptive`: finds how many tasks at once give a device the most throughput, and keeps looking. The control law, and why it
// converges, are in docs/design/admission.md. Pure: no clock, no lock, no tasks; the budget tells it what happened.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "device/level.hpp"

namespace dovetail::admission {

class AdaptiveLearner {
 public:
  /// One task that has ended.
  struct Sample {
    /// Seconds that it was on the device among so many tasks, itself included. The last entry is for all greater numbers.
    std::span<const double> seconds_among;
    double work = 0;         ///< What it did, in any unit that all samples of the device share.
    unsigned present = 0;    ///< Tasks that are on the device or wait for it now.
    double device_rate = 0;  ///< Work per second that the device is said to do at best; 0: unknown.
  };
  /// @param most  Tasks at once that can be made at all.
  explicit AdaptiveLearner(unsigned most);

  /// How many tasks may be on the device at once.
  unsigned at_once() const noexcept { return limit_; }
  /// Whether it is looking for a level; else it holds one.
  bool searching() const noexcept { return searching_; }
  /// Work per second that was last found at the level that it holds, or at the best so far; 0: nothing is known.
  double rate() const noexcept;
  /// The work that a task should have done, by what is known of the levels that it was among; 0: nothing is known of them.
  double expected_work(std::span<const double> seconds_among) const noexcept;

  /// Returns true when a search has ended with this sample: worth remembering.
  bool ended(const Sample& sample);
  void set_most(unsigned most) noexcept;
  /// Whether it has learned nothing and been told nothing yet.
  bool fresh() const noexcept { return searching_ && levels_.empty(); }
  /// @name Where to begin, if it has learned nothing and been told nothing yet
  /// @{
  /// The search begins there.
  void begin_with(unsigned at_once) noexcept;
  /// The search begins where a curve that was measured, in ascending order, is at its height, and looks only where that leaves something to
  /// find. One level alone is a place to begin, too.
  void begin_near(std::span<const device::Level> curve);
  /// No search: a level is held that an earlier run found. A rate of 0 has no meaning in this run.
  void recall(const device::Level& level);
  /// @}
  /// The level that it holds, and the work per second that it gives.
  device::Level remember() const noexcept { return {limit_, reference_}; }

 private:
  /// What was measured with so many tasks at once.
  struct Level {
    double work = 0;
    double device_seconds = 0;  ///< Sum of seconds / at_once: the device's time that these tasks had.
    double count = 0;     ///< Of these tasks; one that was elsewhere for a part of its time counts for the rest only.
    bool steady = false;  ///< Measured while it was held: of tasks that began and ended at it.
    double rate() const noexcept { return device_seconds > 0 ? work / device_seconds : 0; }
    void add(const Level& more) noexcept;
  };
  using Levels = std::map<unsigned, Level>;
  /// Squared relative deviations, summed with slow oblivion, and how many.
  struct Scatter {
    double sum = 0;
    double weight = 0;
    double variance() const noexcept { return weight > 0 ? sum / weight : 0; }
  };
  /// What a task did, and the device's time that it had at each level.
  struct Ended {
    double work = 0;
    std::vector<std::pair<unsigned, double>> parts;
    double device_seconds = 0;  ///< Their sum.
    double here = 0;            ///< The present level's share of it.
  };

  double samples_needed(unsigned at_once) const noexcept;
  bool measured(unsigned at_once, const Level& level) const noexcept;
  bool known_well(unsigned at_once, const Level& level) const noexcept;
  double guess(unsigned at_once) const noexcept;
  Ended parts_of(const Sample& sample) const;
  void learn(const Ended& task);
  void put_down(const Ended& task, Levels& levels) const;
  void keep_levels();
  void note_scatter(const Level& level, double device_seconds_per_work) noexcept;
  void measure(unsigned at_once);
  Levels::const_iterator best() const noexcept;
  bool decide(unsigned present);
  bool doubt_first();
  unsigned next_to_measure(Levels::const_iterator best) const noexcept;
  bool full(const Level& level) const noexcept;
  unsigned next_above(unsigned at, unsigned upper) const noexcept;
  unsigned next_below(unsigned at, unsigned lower) const noexcept;
  bool promising(unsigned neighbour, unsigned at) const noexcept;
  bool possible(unsigned at_once, double rate) const noexcept;
  bool give_up();
  void go_to(unsigned at_once) noexcept;
  void hold(unsigned at_once);
  void begin_block() noexcept;
  bool held(const Ended& task, unsigned present);
  bool end_block();
  void look_around(unsigned present);

  unsigned most_;
  unsigned limit_;
  bool searching_ = true;
  unsigned first_;            ///< Where it began, until that is compared with another level; then 0.
  unsigned held_before_ = 0;  ///< Where the search began, after a change; 0 for the first search.
  unsigned changed_at_ =
      0;                    ///< The level that was held when the device changed, until one has been confirmed; 0: none.
  bool slower_ = false;     ///< That change made the device slower.
  unsigned since_ = 0;      ///< Tasks that have ended since the level was last changed, ...
  unsigned under_way_ = 0;  ///< ... when so many may have been under way.
  double device_rate_ = 0;  ///< Of the latest sample.
  unsigned postponed_ = 0;  ///< A greater level that is to be measured when there are tasks enough; 0: none.
  Levels levels_;
  Levels kept_levels_;        ///< Of these, what is of tasks that are not among ...
  std::deque<Ended> recent_;  ///< ... the last ones, whose work is put down to levels anew when more is known of these.
  Levels shape_;              ///< What was measured before the last change, as it would be if all had changed alike.
  /// Of the device, as it was measured, and before it that none at once give nothing; empty: it was not, or has changed since.
  std::vector<device::Level> curve_;
  double reference_ = 0;          ///< Rate at the level that is held.
  Level block_;                   ///< The latest samples at that level.
  double credit_ = 0;             ///< Seconds of the device that may be spent on looking around.
  unsigned held_ = 0;             ///< Samples since the last look.
  bool upwards_ = true;           ///< Where to look next.
  Scatter scatter_;               ///< Of samples about their level, ...
  Scatter scatter_before_block_;  ///< ... and what it was when the block began: what a change adds is not scatter.
};

}  // namespace dovetail::admission
