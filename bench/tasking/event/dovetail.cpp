// A task whose completion waits for one event, against the same task without an event.
// `none`:      no event.
// `next_body`: the body of the next task on the same worker fulfils it, as a poll of the worker's own ring would.
// `thread`:    a thread outside of the runtime fulfils it.
// `handover`:  as `thread`, but there is no event: what passing an address to that thread costs by itself.
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/counter.hpp"
#include "tasking/common.hpp"

namespace {

class EventTasks {
 public:
  explicit EventTasks(std::int64_t tasks) : tasks_(tasks), published_(static_cast<std::size_t>(tasks)) {}

  void none() {
    spawn_all([this](std::int64_t) { ran_.add(); });
    dovetail::wait();
  }

  void next_body() {
    spawn_all([this](std::int64_t) {
      dovetail::Events& events = dovetail::this_task::events();
      events.add();
      // The slot belongs to this thread until the last body has counted itself.
      dovetail::Events*& waiting = waiting_[static_cast<std::size_t>(bench::thread_slot())].events;
      dovetail::Events* const before = std::exchange(waiting, &events);
      if (before != nullptr) fulfill(*before);
      ran_.add();
    });
    while (ran_.total() < tasks_) dovetail::this_task::yield();
    for (Waiting& waiting : waiting_) {
      if (waiting.events != nullptr) fulfill(*std::exchange(waiting.events, nullptr));
    }
    dovetail::wait();
  }

  void publish(bool with_event) {
    spawn_all([this, with_event](std::int64_t index) {
      dovetail::Events& events = dovetail::this_task::events();
      if (with_event) events.add();
      ran_.add();
      published_[static_cast<std::size_t>(index)].store(&events, std::memory_order_release);
    });
    dovetail::wait();
  }

  /// What the thread outside does for `publish`: it takes the addresses in the order of spawning.
  void take(bool with_event) {
    for (auto& slot : published_) {
      dovetail::Events* events = nullptr;
      while ((events = slot.load(std::memory_order_acquire)) == nullptr) std::this_thread::yield();
      if (with_event) fulfill(*events);
    }
  }

  void clear() {
    ran_.clear();
    fulfilled_.clear();
    for (auto& slot : published_) slot.store(nullptr, std::memory_order_relaxed);
  }

  [[nodiscard]] std::string what_is_wrong(bool with_event) const {
    const std::int64_t expected = with_event ? tasks_ : 0;
    if (ran_.total() == tasks_ && fulfilled_.total() == expected) return {};
    return std::to_string(ran_.total()) + " tasks ran and " + std::to_string(fulfilled_.total()) +
           " events were fulfilled, of " + std::to_string(tasks_);
  }

 private:
  struct alignas(64) Waiting {
    dovetail::Events* events = nullptr;
  };

  template <class Body>
  void spawn_all(Body body) {
    for (std::int64_t index = 0; index < tasks_; ++index) dovetail::spawn([body, index] { body(index); });
  }

  // Counted first: fulfilling may complete the task that the report waits for.
  void fulfill(dovetail::Events& events) {
    fulfilled_.add();
    events.fulfill();
  }

  std::int64_t tasks_;
  std::vector<std::atomic<dovetail::Events*>> published_;
  std::array<Waiting, bench::most_threads> waiting_;
  bench::Counter ran_;
  bench::Counter fulfilled_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("event", "dovetail");
  const std::int64_t& tasks = line.size("tasks", 1'000'000, "tasks that the producer spawns");
  const std::string& event = line.choice("event", {"none", "next_body", "thread", "handover"}, "who fulfils it");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  const auto problem = std::make_unique<EventTasks>(tasks);
  const bool with_event = event == "next_body" || event == "thread";
  const auto run = [&] {
    if (event == "none") {
      runtime.spawn([&] { problem->none(); }).get();
    } else if (event == "next_body") {
      runtime.spawn([&] { problem->next_body(); }).get();
    } else {
      const auto root = runtime.spawn([&] { problem->publish(with_event); });
      problem->take(with_event);
      root.get();
    }
  };
  return bench::measure_and_finish(line, {.operations = tasks,
                                          .prepare = [&] { problem->clear(); },
                                          .run = run,
                                          .check = [&] { return problem->what_is_wrong(with_event); }});
}
