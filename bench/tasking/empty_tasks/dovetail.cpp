// Empty tasks from one producer: a task of the runtime that spawns children, or a thread outside of it.
#include <string>

#include "empty_tasks/empty_tasks.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("empty_tasks", "dovetail");
  const std::int64_t& tasks = line.size("tasks", bench::default_empty_tasks, "tasks that the producer spawns");
  const std::string& producer = line.choice("producer", {"task", "thread"}, "who spawns");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  bench::EmptyTasks problem(tasks);
  const auto from_task = [&] {
    runtime
        .spawn([&] {
          for (std::int64_t i = 0; i < tasks; ++i) dovetail::spawn([&problem] { problem.ran.add(); });
          dovetail::wait();
        })
        .get();
  };
  const auto from_thread = [&] {
    for (std::int64_t i = 0; i < tasks; ++i) runtime.spawn([&problem] { problem.ran.add(); });
    runtime.wait();
  };
  std::function<void()> run = from_task;
  if (producer == "thread") run = from_thread;
  return bench::measure_and_finish(line, problem.timed(run));
}
