// `auto` and `auto(min,max,delta)` for one type of task on one device. They follow sections 3.3 and 4.2.3 of the paper on I/O-aware PyCOMPSs
// (docs/papers.md). Pure: no clock, no lock, no tasks; the budget tells it what happened.
#pragma once

#include <cstdint>
#include <vector>

#include "dovetail/storage_bandwidth.hpp"

namespace dovetail::admission {

class AutoLearner {
 public:
  /// What one learning epoch found: an entry of the auto constraint registry (section 4.2.3 B).
  struct Entry {
    double constraint = 0;  ///< MB/s
    unsigned at_once = 0;   ///< maxNumTasks_c: how many tasks that allows to run at once.
    double seconds = 0;     ///< t_c: average time of the tasks of its epoch.
  };

  /// @param bandwidth  Of the device in MB/s.
  /// @param executors  Most I/O tasks that can run at once; the unbounded start value is bandwidth / executors (section 4.2.3 B).
  AutoLearner(const StorageBandwidth& constraint, double bandwidth, unsigned executors);

  /// In the learning phase (section 3.3.1).
  bool learning() const noexcept { return learning_; }
  /// MB/s: of the epoch, or what the objective function chose.
  double constraint() const noexcept { return constraint_; }
  /// How many tasks the constraint allows to run at once.
  unsigned at_once() const noexcept { return at_once(constraint_); }

  /// Whether the epoch has a place for one more task; then `admitted` follows. Only while learning.
  bool has_place() const noexcept { return admitted_ < at_once(); }
  void admitted() noexcept { ++admitted_; }
  /// A task that was admitted in the learning phase has ended. A task that failed teaches nothing: its place is free again.
  /// The last of an epoch ends the epoch. Returns whether it did.
  bool ended(double seconds, bool failed);

  /// Section 4.2.3 C: evaluates the objective function for so many tasks that are ready. Only after learning.
  void requests(std::uint64_t ready);
  /// T(numTasks, c): seconds that so many tasks take, the remainder included.
  static double estimate(std::uint64_t tasks, const Entry& entry) noexcept;

  const std::vector<Entry>& registry() const noexcept { return registry_; }
  std::uint64_t tasks_learning() const noexcept { return tasks_learning_; }

 private:
  unsigned at_once(double constraint) const noexcept;
  void end_epoch();

  double bandwidth_;
  unsigned executors_;
  bool bounded_;
  double maximum_ = 0;
  double factor_ = 2;
  double constraint_;
  bool learning_ = true;
  unsigned admitted_ = 0;
  unsigned ended_ = 0;
  double seconds_ = 0;
  std::vector<Entry> registry_;
  std::uint64_t tasks_learning_ = 0;
};

}  // namespace dovetail::admission
