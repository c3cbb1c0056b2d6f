// `adaptive`: finds how many tasks at once give a device the most throughput, and keeps looking. The control law, and why it
// converges, are in docs/design/admission.md. Pure: no clock, no lock, no tasks; the budget tells it what happened.
#pragma once

#include <cstdint>
#include <map>

namespace dovetail::admission {

class AdaptiveLearner {
 public:
  /// One task that has ended.
  struct Sample {
    double at_once = 0;    ///< How many tasks were on the device during its time, on average, itself included.
    double deviation = 0;  ///< Standard deviation of that number over its time.
    double work = 0;       ///< What it did, in any unit that all samples of the device share.
    double seconds = 0;    ///< From its admission to its end.
  };
  /// What is worth remembering between runs.
  struct Memory {
    unsigned at_once = 0;
    double rate = 0;  ///< Work per second; 0: its unit has no meaning in another run.
  };

  /// @param most  Tasks at once that can be made at all.
  explicit AdaptiveLearner(unsigned most);

  /// How many tasks may be on the device at once.
  unsigned at_once() const noexcept { return limit_; }
  /// Whether it is looking for a level; else it holds one.
  bool searching() const noexcept { return searching_; }
  /// Work per second that was last found at the level that it holds, or at the best so far; 0: nothing is known.
  double rate() const noexcept;

  /// Returns true when a search has ended with this sample: worth remembering.
  bool ended(const Sample& sample);
  void set_most(unsigned most) noexcept;
  /// Starts with what an earlier run found, instead of searching.
  void recall(const Memory& memory);
  Memory remember() const noexcept;

 private:
  /// What was measured with so many tasks at once.
  struct Level {
    double work = 0;
    double device_seconds = 0;  ///< Sum of seconds / at_once: the device's time that these tasks had.
    unsigned count = 0;
    double rate() const noexcept { return device_seconds > 0 ? work / device_seconds : 0; }
  };
  using Levels = std::map<unsigned, Level>;

  bool measured(unsigned at_once) const noexcept;
  void measure(unsigned at_once);
  Levels::const_iterator best() const noexcept;
  bool decide();
  unsigned next_to_measure(Levels::const_iterator best) const noexcept;
  void hold(unsigned at_once);
  void held(const Sample& sample);
  void end_block();
  void look_around();

  unsigned most_;
  unsigned limit_ = 1;
  bool searching_ = true;
  Levels levels_;
  Level block_;           ///< The latest samples at the level that is held.
  double spread_ = 0;     ///< Mean relative deviation of a sample from the reference.
  double reference_ = 0;  ///< Rate at the level that is held.
  double credit_ = 0;     ///< Seconds of the device that may be spent on looking around.
  unsigned held_ = 0;     ///< Samples since the last look.
  bool upwards_ = true;   ///< Where to look next.
};

}  // namespace dovetail::admission
