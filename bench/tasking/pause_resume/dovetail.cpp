// What it costs that a task pauses and is resumed through the scheduler.
// `handover`: a ring of tasks; each is paused until its predecessor resumes it, so that every pause is a real one.
// `yield`: each task gives way to the others, again and again.
#include <atomic>
#include <string>
#include <vector>

#include "tasking/common.hpp"

namespace {

class Ring {
 public:
  Ring(std::int64_t tasks, std::int64_t rounds) : rounds_(rounds), handles_(static_cast<std::size_t>(tasks)) {}

  void handover() {
    std::atomic<std::size_t> known{0};
    for (std::size_t index = 0; index < handles_.size(); ++index) {
      dovetail::spawn([this, index, &known] {
        handles_[index] = dovetail::this_task::handle();
        known.fetch_add(1, std::memory_order_release);
        const std::size_t next = index + 1 == handles_.size() ? 0 : index + 1;
        for (std::int64_t round = 0; round < rounds_; ++round) {
          dovetail::this_task::suspend();
          // Only the task whose turn it is runs, therefore a plain number will do; a wrong order shows in the sum.
          if (turn_++ % static_cast<std::int64_t>(handles_.size()) != static_cast<std::int64_t>(index)) ++out_of_turn_;
          handles_[next].resume();
        }
      });
    }
    while (known.load(std::memory_order_acquire) < handles_.size()) dovetail::this_task::yield();
    handles_[0].resume();
    dovetail::wait();
  }

  void yield() {
    std::atomic<std::int64_t> turns{0};
    for (std::size_t index = 0; index < handles_.size(); ++index) {
      dovetail::spawn([this, &turns] {
        for (std::int64_t round = 0; round < rounds_; ++round) dovetail::this_task::yield();
        turns.fetch_add(rounds_, std::memory_order_relaxed);
      });
    }
    dovetail::wait();
    turn_ = turns.load(std::memory_order_relaxed);
  }

  void clear() {
    turn_ = 0;
    out_of_turn_ = 0;
  }

  [[nodiscard]] std::string what_is_wrong() const {
    const std::int64_t expected = rounds_ * static_cast<std::int64_t>(handles_.size());
    if (turn_ == expected && out_of_turn_ == 0) return {};
    return std::to_string(turn_) + " turns of " + std::to_string(expected) + ", " + std::to_string(out_of_turn_) +
           " of them out of order";
  }

 private:
  std::int64_t rounds_;
  std::vector<dovetail::TaskHandle> handles_;
  std::int64_t turn_ = 0;
  std::int64_t out_of_turn_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("pause_resume", "dovetail");
  const std::int64_t& pauses = line.size("pauses", 1'000'000, "pauses of all tasks together");
  const std::int64_t& tasks = line.size("tasks", 2, "tasks that take turns");
  const std::string& way = line.choice("way", {"handover", "yield"}, "how a task pauses");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  const std::int64_t rounds = pauses / tasks + 1;
  Ring ring(tasks, rounds);
  const bench::Problem problem{
      .operations = rounds * tasks,
      .prepare = [&] { ring.clear(); },
      .run = [&] { runtime.spawn([&] { way == "yield" ? ring.yield() : ring.handover(); }).get(); },
      .check = [&] { return ring.what_is_wrong(); },
  };
  return bench::measure_and_finish(line, problem);
}
