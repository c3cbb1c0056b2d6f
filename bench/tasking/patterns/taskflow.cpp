// METG of Task Bench's patterns with Taskflow: a graph with a task for each cell, built and run within the measured time.
#include <memory>
#include <vector>

#include "metg/metg.hpp"
#include "patterns/patterns.hpp"
#include "taskflow/taskflow.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("patterns", "taskflow");
  bench::Metg metg(line);
  const std::string& name = line.choice("pattern", bench::Pattern::names, "what a point is made from");
  line.parse(argc, argv);

  tf::Executor executor(static_cast<std::size_t>(line.workers()));
  return metg.find([&](std::int64_t steps, std::int64_t points, std::int64_t iterations) {
    auto pattern = std::make_shared<bench::Pattern>(name, steps, points);
    return pattern->timed([&executor, pattern, iterations] {
      tf::Taskflow graph;
      std::vector<tf::Task> tasks;
      tasks.reserve(pattern->places());
      for (std::size_t place = 0; place < pattern->places(); ++place) {
        tasks.push_back(graph.emplace([&pattern = *pattern, place, iterations] {
          bench::busy_work(iterations);
          pattern.compute(place);
        }));
        for (const std::size_t source : pattern->sources(place)) tasks[source].precede(tasks.back());
      }
      executor.run(graph).wait();
    });
  });
}
