// A thread that sleeps, beside threads that compute: what the system gives.
#include <thread>
#include <vector>

#include "late/late.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("late", "threads");
  bench::Late problem(line);
  line.parse(argc, argv);

  std::vector<std::thread> computing;
  for (int i = 0; i < line.workers(); ++i) {
    computing.emplace_back([&] {
      while (!problem.ended()) problem.compute();
    });
  }
  while (!problem.ended()) {
    std::this_thread::sleep_for(problem.period);
    problem.done();
  }
  for (std::thread& thread : computing) thread.join();
  return problem.finish();
}
