// The device of bench/devices/congested_fs.cpp on a clock of its own: tasks enter a real budget, share the device by the law of
// congestion, and leave it. Same input, same result; nothing waits.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "../../bench/devices/congestion_law.hpp"
#include "admission/budget.hpp"

namespace dovetail::admission::test {

using devices::CongestionLaw;

struct SimulatedTask {
  Request request;
  double megabytes = 0;
  double remaining = 0;
  bool bytes_known = true;
  bool fails = false;
};

class Simulator {
 public:
  explicit Simulator(const CongestionLaw& given, unsigned executors = 64, unsigned most = 0)
      : law(given), budget("simulated", most), executors_(executors) {}

  TaskType& type(const std::string& label, const StorageBandwidth& constraint) {
    return budget.type({label, constraint, Direction::write}, law.peak, executors_);
  }

  /// A task that arrives at a time; tasks of one time arrive in the order of the calls.
  SimulatedTask& arrive(TaskType& of, double megabytes, double at = 0) {
    tasks_.push_back(std::make_unique<SimulatedTask>());
    SimulatedTask& task = *tasks_.back();
    task.request.type = &of;
    task.request.owner = this;
    task.megabytes = task.remaining = megabytes;
    arrivals_.push({at, arrivals_.size() + ended, &task});
    return task;
  }

  /// Until everything has ended. Returns when that was.
  double run() {
    while (!arrivals_.empty() || !running_.empty()) {
      const double arrival = arrivals_.empty() ? 1e300 : arrivals_.top().at;
      const double speed = running_.empty() ? 0 : law.bandwidth(static_cast<double>(running_.size())) / count();
      double least = 1e300;
      for (const SimulatedTask* task : running_) {
        least = std::min(least, task->remaining);
      }
      const double end = running_.empty() ? 1e300 : now + least / speed;
      const double next = std::min(arrival, end);
      for (SimulatedTask* task : running_) {
        task->remaining -= (next - now) * speed;
      }
      now = next;
      if (arrival <= end) {
        SimulatedTask* const task = arrivals_.top().task;
        arrivals_.pop();
        RequestList admitted;
        budget.enter(task->request, now, admitted);
        start(admitted);
      } else {
        end_one();
      }
    }
    return now;
  }

  CongestionLaw law;
  Budget budget;
  double now = 0;
  std::size_t ended = 0;
  /// Called after each task that has ended.
  std::function<void(SimulatedTask&)> on_end;

 private:
  struct Arrival {
    double at;
    std::size_t number;
    SimulatedTask* task;
    bool operator<(const Arrival& other) const { return at != other.at ? at > other.at : number > other.number; }
  };

  double count() const { return static_cast<double>(running_.size()); }

  void start(RequestList& admitted) {
    while (Request* request = admitted.take()) {
      running_.push_back(reinterpret_cast<SimulatedTask*>(request));
    }
  }

  void end_one() {
    const auto first = std::min_element(running_.begin(), running_.end(), [](const auto* left, const auto* right) {
      return left->remaining < right->remaining;
    });
    SimulatedTask& task = **first;
    running_.erase(first);
    RequestList admitted;
    const auto bytes = static_cast<std::uint64_t>(task.megabytes * 1e6);
    ++ended;
    budget.leave(task.request, {task.fails, task.bytes_known, bytes}, now, admitted);
    if (on_end) {
      on_end(task);
    }
    start(admitted);
  }

  unsigned executors_;
  std::vector<std::unique_ptr<SimulatedTask>> tasks_;
  std::priority_queue<Arrival> arrivals_;
  std::vector<SimulatedTask*> running_;
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
