// Empty tasks from one producer with OpenMP: a `single` construct makes them.
#include "tasking/openmp.hpp"
#include "empty_tasks/empty_tasks.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("empty_tasks", bench::openmp_runtime);
  const std::int64_t& tasks = line.size("tasks", bench::default_empty_tasks, "tasks that the producer spawns");
  line.parse(argc, argv);

  bench::EmptyTasks problem(tasks);
  bench::Counter* const ran = &problem.ran;
  return bench::measure_and_finish(line, problem.timed([&] {
#pragma omp parallel num_threads(line.workers())
#pragma omp single
    {
      for (std::int64_t i = 0; i < tasks; ++i) {
#pragma omp task firstprivate(ran) default(none)
        ran->add();
      }
#pragma omp taskwait
    }
  }));
}
