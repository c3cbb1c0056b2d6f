// Empty tasks from one producer with oneTBB: a thread of the arena runs them into a task group.
#include "tasking/onetbb.hpp"
#include "empty_tasks/empty_tasks.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("empty_tasks", "onetbb");
  const std::int64_t& tasks = line.size("tasks", bench::default_empty_tasks, "tasks that the producer spawns");
  line.parse(argc, argv);

  bench::TbbThreads threads(line);
  bench::EmptyTasks problem(tasks);
  return bench::measure_and_finish(line, problem.timed([&] {
    threads.execute([&] {
      tbb::task_group group;
      for (std::int64_t i = 0; i < tasks; ++i) group.run([&problem] { problem.ran.add(); });
      group.wait();
    });
  }));
}
