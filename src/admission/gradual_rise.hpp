// Fills a raised level of `adaptive` so that its tasks do not keep step. Tasks that begin together prepare their data together and then wait
// for the device together. Then processor and device take turns, and more tasks at once look worse than they are. Pure: no clock, no lock,
// no tasks.
#pragma once

#include <vector>

namespace dovetail::admission {

class GradualRise {
 public:
  /// @name What happened, in seconds of any one clock. Times may be slightly out of order: they are taken before locks.
  /// @{
  void arrived(double now) noexcept;
  void entered(double now);
  /// @param entered  The time that `entered` was told of the same task.
  void left(double entered, double now);
  /// @}

  /// Whether one more task may enter now, where so many are allowed in the end. A place that was taken before is free at once. For a new
  /// place an event is waited for, such as the end of a task inside. It is waited for only while a task is inside, and not longer than two
  /// tasks take.
  bool allows(unsigned level, double now) noexcept;

 private:
  std::vector<double> entered_;  ///< When those inside entered, ascending.
  unsigned filled_ = 0;          ///< How many of the places of the level have been taken so far.
  unsigned level_ = 0;
  double raised_ = 0;           ///< When that level was first asked for.
  double typical_seconds_ = 0;  ///< That a task takes; 0: none has ended.
  double last_arrival_ = 0;
  double last_entered_ = 0;     ///< The latest time at which tasks entered, ...
  double entered_before_ = 0;   ///< ... the one before, ...
  bool new_place_now_ = false;  ///< ... and whether one of the latest took a new place.
};

}  // namespace dovetail::admission
