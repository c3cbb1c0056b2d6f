// The device of bench/devices/congested_fs.cpp on a clock of its own: tasks enter a real budget, or those without constraint the real places of
// the executors; they share the device by the law of congestion, and leave it. Same input, same result; nothing waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "../../bench/devices/congestion_law.hpp"
#include "admission/budget.hpp"
#include "tasking/open_tasks.hpp"

namespace dovetail::admission::test {

using devices::CongestionLaw;

struct SimulatedTask {
  Candidate candidate;
  double megabytes = 0;
  double pause = 0;      ///< Seconds that it waits for something else at first.
  double processor = 0;  ///< Then seconds of a core before the device is used: to fill the buffers.
  double remaining = 0;  ///< Of what it does now: seconds, seconds of a core, or MB.
  bool bytes_known = true;
  bool fails = false;
};

class Simulator {
 public:
  /// @param cores  That tasks, before they use the device, and computations share.
  explicit Simulator(const CongestionLaw& given, unsigned executors = 64, unsigned most = 0, unsigned cores = 2)
      : law(given), executors_(executors), cores_(cores) {
    device.configure(most, false);
    static const CandidateOwner candidate_owner{.leaving = [](Candidate&) noexcept {}};
    budget.set_candidate_owner(&candidate_owner);
  }

  TaskType& type(const std::string& label, const StorageBandwidth& constraint) {
    return type(label, constraint, law.peak);
  }
  /// @param bandwidth  What the device is said to give, MB/s; 0: unknown.
  TaskType& type(const std::string& label, const StorageBandwidth& constraint, double bandwidth) {
    return budget.type({label, constraint, Direction::write}, bandwidth, executors_, starting_);
  }

  /// Executors from which types that are made from now on start, and places of tasks without constraint to begin with.
  void start_with(unsigned executors) {
    starting_ = executors;
    places_.emplace(executors, executors_);
  }

  /// A task that arrives at a time; tasks of one time arrive in the order of the calls.
  SimulatedTask& arrive(TaskType& of, double megabytes, double at = 0) {
    SimulatedTask& task = make(of, megabytes);
    arrivals_.push({at, arrivals_.size() + ended, &task});
    return task;
  }

  /// A task that arrives when so many seconds of a core have been computed for it. As many are computed at a time as there are
  /// cores, in the order of the calls.
  SimulatedTask& compute(TaskType& of, double megabytes, double seconds) {
    SimulatedTask& task = make(of, megabytes);
    to_compute_.push({seconds, &task});
    return task;
  }

  /// Until everything has ended. Returns when that was.
  double run() {
    for (;;) {
      while (computing_.size() < cores_ && !to_compute_.empty()) {
        computing_.push_back(to_compute_.front());
        to_compute_.pop();
      }
      if (arrivals_.empty() && computing_.empty() && pausing_.empty() && preparing_.empty() && writing_.empty()) {
        return now;
      }
      step();
    }
  }

  /// Most tasks that were on executors at once.
  std::size_t most_running() const noexcept { return most_running_; }

  CongestionLaw law;
  device::Device device{0, 0, 0};
  Budget budget{&device};
  double now = 0;
  std::size_t ended = 0;
  /// Called after each task that has ended.
  std::function<void(SimulatedTask&)> on_end;

 private:
  static constexpr double never = 1e300;

  struct Arrival {
    double at;
    std::size_t number;
    SimulatedTask* task;
    bool operator<(const Arrival& other) const { return at != other.at ? at > other.at : number > other.number; }
  };
  struct Computation {
    double remaining;
    SimulatedTask* task;
  };

  SimulatedTask& make(TaskType& of, double megabytes) {
    tasks_.push_back(std::make_unique<SimulatedTask>());
    SimulatedTask& task = *tasks_.back();
    task.candidate.type = &of;
    task.candidate.owner = this;
    task.megabytes = megabytes;
    return task;
  }

  template <typename Work>
  static auto least(std::vector<Work>& works) {
    return std::min_element(works.begin(), works.end(),
                            [](const Work& left, const Work& right) { return rest(left) < rest(right); });
  }
  static double rest(const SimulatedTask* task) { return task->remaining; }
  static double rest(const Computation& computation) { return computation.remaining; }

  template <typename Work>
  double end_of_least(std::vector<Work>& works, double speed) const {
    return works.empty() ? never : now + std::max(0.0, rest(*least(works))) / speed;
  }

  // Up to the next event, and what follows from it.
  void step() {
    const auto busy = static_cast<double>(computing_.size() + preparing_.size());
    const auto writers = static_cast<double>(writing_.size());
    const double core = busy == 0 ? 0 : std::min(1.0, cores_ / busy);
    const double speed = writers == 0 ? 0 : law.bandwidth(writers) / writers;
    const double arrival = arrivals_.empty() ? never : arrivals_.top().at;
    const double computed = end_of_least(computing_, core);
    const double prepared = end_of_least(preparing_, core);
    const double written = end_of_least(writing_, speed);
    const double paused = end_of_least(pausing_, 1);
    const double next = std::min({arrival, computed, prepared, written, paused, next_look_});
    for (Computation& computation : computing_) {
      computation.remaining -= (next - now) * core;
    }
    for (SimulatedTask* task : preparing_) {
      task->remaining -= (next - now) * core;
    }
    for (SimulatedTask* task : writing_) {
      task->remaining -= (next - now) * speed;
    }
    for (SimulatedTask* task : pausing_) {
      task->remaining -= next - now;
    }
    now = next;
    if (arrival == next) {
      SimulatedTask* const task = arrivals_.top().task;
      arrivals_.pop();
      enter(*task);
    } else if (computed == next) {
      const auto done = least(computing_);
      SimulatedTask* const task = done->task;
      computing_.erase(done);
      enter(*task);
    } else if (paused == next) {
      const auto done = least(pausing_);
      SimulatedTask& task = **done;
      pausing_.erase(done);
      prepare(task);
    } else if (prepared == next) {
      const auto done = least(preparing_);
      SimulatedTask& task = **done;
      preparing_.erase(done);
      write(task);
    } else if (written == next) {
      end_one();
    } else {
      look();
    }
  }

  // How many run is the executors' affair.
  bool is_open(const SimulatedTask& task) const { return places_ && !budget.limits(*task.candidate.type); }

  void enter(SimulatedTask& task) {
    if (!is_open(task)) {
      CandidateList admitted;
      budget.enter(task.candidate, now, admitted);
      start(admitted);
    } else if (places_->take(task.candidate)) {
      begin_open(&task.candidate);
    } else {
      next_look_ = std::min(next_look_, now + seconds(places_->between_looks));
    }
  }

  void begin_open(Candidate* candidate) {
    if (candidate != nullptr) {
      budget.count_in(*candidate, now);
      begin(*reinterpret_cast<SimulatedTask*>(candidate));
    }
  }

  static double seconds(std::chrono::duration<double> time) { return time.count(); }

  // As Executors::look.
  void look() {
    if (!places_->needs_looks()) {
      next_look_ = never;
      return;
    }
    next_look_ = now + seconds(places_->until_next_look());
    using tasking::Activity;
    begin_open(places_->look(true, [this] {
      const auto are_open = [this](const std::vector<SimulatedTask*>& tasks) {
        return std::any_of(tasks.begin(), tasks.end(), [this](const SimulatedTask* task) { return is_open(*task); });
      };
      return are_open(writing_) ? Activity::uses_a_file : are_open(preparing_) ? Activity::computes : Activity::waits;
    }));
  }

  void start(CandidateList& admitted) {
    while (Candidate* candidate = admitted.pop()) {
      admitted_.push(reinterpret_cast<SimulatedTask*>(candidate));
    }
    while (!admitted_.empty() && running() < executors_) {
      SimulatedTask* const task = admitted_.front();
      admitted_.pop();
      begin(*task);
    }
  }

  std::size_t running() const noexcept { return pausing_.size() + preparing_.size() + writing_.size(); }

  void begin(SimulatedTask& task) {
    if (task.pause > 0) {
      task.remaining = task.pause;
      pausing_.push_back(&task);
    } else {
      prepare(task);
    }
    most_running_ = std::max(most_running_, running());
  }

  void prepare(SimulatedTask& task) {
    if (task.processor > 0) {
      task.remaining = task.processor;
      preparing_.push_back(&task);
    } else {
      write(task);
    }
  }

  void write(SimulatedTask& task) {
    task.remaining = task.megabytes;
    writing_.push_back(&task);
  }

  void end_one() {
    const auto first = least(writing_);
    SimulatedTask& task = **first;
    writing_.erase(first);
    CandidateList admitted;
    const auto bytes = static_cast<std::uint64_t>(task.megabytes * 1e6);
    ++ended;
    budget.leave(task.candidate, {task.fails, task.bytes_known, bytes}, now, admitted);
    if (on_end) {
      on_end(task);
    }
    if (is_open(task)) {
      begin_open(places_->ended());
    }
    start(admitted);
  }

  unsigned executors_;
  unsigned starting_ = 0;
  unsigned cores_;
  std::optional<tasking::OpenPlaces<Candidate>> places_;
  double next_look_ = never;
  std::size_t most_running_ = 0;
  std::vector<std::unique_ptr<SimulatedTask>> tasks_;
  std::priority_queue<Arrival> arrivals_;
  std::queue<Computation> to_compute_;
  std::queue<SimulatedTask*> admitted_;  ///< That no executor has taken yet.
  std::vector<Computation> computing_;
  std::vector<SimulatedTask*> pausing_;
  std::vector<SimulatedTask*> preparing_;
  std::vector<SimulatedTask*> writing_;
};

/// How many at once the law likes best, and what they get.
inline double best_bandwidth(const CongestionLaw& law, unsigned most = 64) {
  double best = 0;
  for (unsigned count = 1; count <= most; ++count) {
    best = std::max(best, law.bandwidth(count));
  }
  return best;
}

}  // namespace dovetail::admission::test
