// What one device shares out among the tasks that use it. Knows neither tasks nor clocks. Candidates come and go at times that it is told,
// so tests run it on a clock of their own.
//
// Thread-safe. `enter`, `leave` and `withdraw` hand out candidates. The caller then starts the tasks of these, outside of the budget's lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "admission/adaptive_learner.hpp"
#include "admission/auto_learner.hpp"
#include "admission/gradual_rise.hpp"
#include "base/mutex.hpp"
#include "base/priority_fifo.hpp"
#include "device/device.hpp"
#include "dovetail/storage_bandwidth.hpp"

namespace dovetail::admission {

using device::Direction;

/// Bytes; bandwidths are in MB/s.
inline constexpr double megabyte = 1e6;

struct TaskType;

/// One task that wants a share. Belongs to the caller; the budget links it while it waits.
struct Candidate {
  enum class Place : std::uint8_t { outside, waiting, inside, over };

  TaskType* type = nullptr;
  const void* owner = nullptr;  ///< Whose task it is: candidates of one owner can be stuck together.
  std::int32_t priority = 0;    ///< Higher goes first.
  Place place = Place::outside;
  bool learning = false;  ///< Was admitted in an epoch of `auto`.
  bool tuned = false;     ///< Was admitted as the adaptive learner says.
  Candidate* next = nullptr;
  std::uint64_t sequence = 0;
  double share = 0;  ///< Of the device, 0 to 1; 0 for `adaptive`, whose share changes while it runs.
  double entered = 0;
  std::vector<double> seconds_among;  ///< Of the budget when it entered, if it teaches: see Budget::seconds_among_.
};

/// Requests in the order in which they were added.
using CandidateList = base::Fifo<Candidate>;

/// What the budget asks of the owner of candidates; called under its lock.
struct CandidateOwner {
  /// The candidate is taken out of the queue; no other thread has seen yet that it waits no more.
  void (*leaving)(Candidate& candidate) noexcept;
};

/// How a task ended.
struct TaskEnd {
  bool failed = false;
  bool bytes_known = false;
  std::uint64_t bytes = 0;  ///< Transferred.
};

/// What a history says of one moment.
struct ConstraintChange {
  double seconds = 0;
  double mb_per_second = 0;
  unsigned at_once = 0;
  std::uint64_t waiting = 0;
  std::uint64_t tasks = 0;  ///< Of the type, that had ended.
  bool learning = false;
};

/// All tasks of one label and constraint on one device, by one of its names. Guarded by the budget, whose lock GUARDED_BY cannot name from here.
struct TaskType {
  std::string label;
  StorageBandwidth constraint;
  Direction direction = Direction::write;
  std::string device;    ///< What its tasks call the device.
  double bandwidth = 0;  ///< MB/s of the device in that direction, by that name; 0: not known, and not needed.
  std::unique_ptr<AutoLearner> automatic;
  base::PriorityFifo<Candidate> queue;
  std::uint64_t waiting = 0;
  unsigned inside = 0;
  std::uint64_t tasks = 0;
  std::uint64_t failed = 0;
  std::uint64_t tasks_searching = 0;  ///< Of `adaptive`: that ended while it was searching.
  double unit = 0;                    ///< Work of one task, or of one MB; 0: not known yet.
  double unit_sum = 0;                ///< Of the first tasks, from which `unit` follows.
  unsigned unit_count = 0;
  bool by_bytes = false;  ///< Work is counted by bytes.
  bool warned = false;
  std::vector<ConstraintChange> history;

  bool learning() const noexcept { return automatic != nullptr && automatic->learning(); }
  /// Whether the adaptive learner says how many of its tasks run at once.
  bool tuned() const noexcept { return constraint.kind() == StorageBandwidth::Kind::adaptive; }
  /// Whether its tasks take no share: they are counted, and held up by nothing but the most that the device may have at once.
  bool free() const noexcept { return constraint.kind() == StorageBandwidth::Kind::none; }
};

class Budget {
 public:
  struct Names {
    std::string label;
    StorageBandwidth constraint;
    Direction direction = Direction::write;
    std::string device = {};  ///< By which of its names the tasks use the device.
  };

  /// @param device  Says how many tasks may be inside at once, whatever their constraints (`most_at_once`). Is told how many may be inside as
  ///                long as there are any whose number is learned. Null: any number may be, and nothing is told.
  explicit Budget(device::Device* device = nullptr) : device_(device), adaptive_(64) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// The type of these names; made, with `bandwidth` (MB/s) and for so many executors, if it is new. Lives as long as the budget.
  /// @param starting  How many tasks at once the first epoch of `auto` has; 0: as many as there are executors.
  TaskType& type(const Names& names, double bandwidth, unsigned executors, unsigned starting = 0);
  bool has_type(const Names& names) const;

  /// Lives as long as the budget. Without one nothing is asked.
  void set_candidate_owner(const CandidateOwner* owner) noexcept {
    candidate_owner_.store(owner, std::memory_order_release);
  }

  /// Whether candidates of the type have to `enter`, as things are. If not, how many run is not this budget's affair.
  bool limits(const TaskType& type) const noexcept { return most() != 0 || !type.free(); }
  /// A candidate that is not limited begins.
  void count_in(Candidate& candidate, double now);
  /// A candidate of a type is ready. It is among `admitted`, perhaps with others, or waits. False if `unwanted` says so (asked under
  /// the lock, so that no cancellation falls between): then it is neither.
  bool enter(Candidate& candidate, double now, CandidateList& admitted,
             const std::function<bool()>& unwanted = nullptr);
  /// A candidate that was admitted, or counted in, is over. Returns whether the adaptive learner has found something worth remembering.
  bool leave(Candidate& candidate, const TaskEnd& end, double now, CandidateList& admitted);
  /// Takes waiting candidates out.
  void withdraw(const std::function<bool(const Candidate&)>& unwanted, double now, CandidateList& withdrawn,
                CandidateList& admitted);
  Candidate::Place place(const Candidate& candidate) const;

  /// Whether a candidate of this owner waits while one of another is inside.
  bool held_elsewhere(const void* owner) const;
  /// What a waiting candidate waits for.
  std::string waits_for(const Candidate& candidate) const;

  /// @name Where `adaptive` is to begin, if it knows nothing yet
  /// See AdaptiveLearner.
  /// @{
  void begin_with(unsigned at_once);
  void begin_near(std::span<const device::Level> curve);
  void recall(const device::Level& level);
  /// @}
  /// What is worth remembering between runs.
  device::Level remember() const;
  /// Runs `look` under the lock; for reports.
  void inspect(const std::function<void(const Budget&)>& look) const;

  /// @name Only in `inspect`, whose lock the check does not see in what it calls
  /// @{
  struct Interval {
    double seconds = 0;  ///< When it begins: one begins where another ends.
    double length = 0;
    double megabytes = 0;
    double task_seconds = 0;
  };
  const std::vector<std::unique_ptr<TaskType>>& types() const noexcept NO_THREAD_SAFETY_ANALYSIS { return types_; }
  const std::vector<Interval>& intervals() const noexcept NO_THREAD_SAFETY_ANALYSIS { return intervals_; }
  unsigned inside() const noexcept NO_THREAD_SAFETY_ANALYSIS { return inside_ + free_inside_; }
  std::uint64_t waiting() const noexcept NO_THREAD_SAFETY_ANALYSIS { return waiting_; }
  unsigned most_inside() const noexcept NO_THREAD_SAFETY_ANALYSIS { return most_inside_; }
  double busy_seconds() const noexcept NO_THREAD_SAFETY_ANALYSIS { return busy_seconds_; }
  std::uint64_t bytes() const noexcept NO_THREAD_SAFETY_ANALYSIS { return bytes_; }
  std::uint64_t tasks() const noexcept NO_THREAD_SAFETY_ANALYSIS { return tasks_; }
  const AdaptiveLearner& adaptive() const noexcept NO_THREAD_SAFETY_ANALYSIS { return adaptive_; }
  /// How many of its tasks the constraint of a type lets run at once, and the constraint in MB/s.
  unsigned at_once(const TaskType& type) const noexcept NO_THREAD_SAFETY_ANALYSIS;
  double constraint(const TaskType& type) const noexcept NO_THREAD_SAFETY_ANALYSIS;
  /// @}

 private:
  struct Owner {
    const void* owner;
    unsigned inside = 0;
    std::uint64_t waiting = 0;
  };

  unsigned most() const noexcept { return device_ != nullptr ? device_->most_at_once() : 0; }
  void advance(double now) REQUIRES(mutex_);
  void tell_device() noexcept REQUIRES(mutex_);
  void admit(double now, CandidateList& admitted) REQUIRES(mutex_);
  bool may_start(TaskType& type, double now) REQUIRES(mutex_);
  bool adaptive_may_start(double now) REQUIRES(mutex_);
  base::Order order() const noexcept REQUIRES(mutex_);
  TaskType* foremost(bool free_only) const noexcept REQUIRES(mutex_);
  void start(TaskType& type, Candidate& candidate, double now) REQUIRES(mutex_);
  void tell_leaving(Candidate& candidate) const noexcept;
  bool teach(Candidate& candidate, const TaskEnd& end, double now) REQUIRES(mutex_);
  double work_of(TaskType& type, const TaskEnd& end, std::span<const double> seconds_among) REQUIRES(mutex_);
  double device_rate() const noexcept REQUIRES(mutex_);
  double share_of(const TaskType& type) const noexcept REQUIRES(mutex_);
  void note(TaskType& type, double now) REQUIRES(mutex_);
  void note_adaptive(double now) REQUIRES(mutex_);
  /// A task was inside from `begin` to `end` and transferred so much.
  void note_transfer(double begin, double end, double megabytes) REQUIRES(mutex_);
  void merge_intervals() REQUIRES(mutex_);
  Owner& owner(const void* owner) REQUIRES(mutex_);
  bool has_name(const Names& names) const REQUIRES(mutex_);

  device::Device* const device_;
  std::atomic<const CandidateOwner*> candidate_owner_{nullptr};
  mutable base::Mutex mutex_;
  std::vector<std::unique_ptr<TaskType>> types_ GUARDED_BY(mutex_);
  std::map<std::tuple<std::string, std::string, Direction, std::string>, TaskType*> by_name_ GUARDED_BY(mutex_);
  std::vector<Owner> owners_ GUARDED_BY(mutex_);
  AdaptiveLearner adaptive_ GUARDED_BY(mutex_);
  GradualRise rise_ GUARDED_BY(mutex_);  ///< Of those that the adaptive learner admits.
  unsigned executors_ GUARDED_BY(mutex_) = 0;
  bool has_unit_ GUARDED_BY(mutex_) = false;  ///< The first type has said what the adaptive learner calls work: ...
  bool unit_by_bytes_ GUARDED_BY(mutex_) = false;  ///< ... MB, or its tasks.
  /// A type that is learning: no task of another type enters (section 4.2.3 B, active learning nodes).
  TaskType* reserved_ GUARDED_BY(mutex_) = nullptr;
  std::uint64_t next_sequence_ GUARDED_BY(mutex_) = 0;
  std::uint64_t admitted_ GUARDED_BY(mutex_) = 0;  // so far
  double used_ GUARDED_BY(mutex_) = 0;             ///< Sum of the shares of those inside that are not adaptive.
  unsigned adaptive_inside_ GUARDED_BY(mutex_) = 0;
  unsigned inside_ GUARDED_BY(mutex_) = 0;
  unsigned free_inside_ GUARDED_BY(mutex_) = 0;  ///< Tasks without constraint; not among `inside_`.
  unsigned most_inside_ GUARDED_BY(mutex_) = 0;
  std::uint64_t waiting_ GUARDED_BY(mutex_) = 0;
  double now_ GUARDED_BY(mutex_) = 0;
  /// For each number of tasks, how long so many were inside; the last is for all above, too.
  std::vector<double> seconds_among_ GUARDED_BY(mutex_);
  double busy_seconds_ GUARDED_BY(mutex_) = 0;
  std::uint64_t tasks_ GUARDED_BY(mutex_) = 0;
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;
  double interval_ GUARDED_BY(mutex_) = 0.05;
  std::vector<Interval> intervals_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::admission
