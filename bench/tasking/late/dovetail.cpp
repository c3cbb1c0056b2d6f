// A polling function with a fixed rate, while all workers run bodies that compute.
#include "late/late.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("late", "dovetail");
  bench::Late problem(line);
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  dovetail::PollingService service(runtime, "clock", {problem.period, problem.period}, [&] {
    problem.done();
    return problem.ended() ? std::size_t{1} : std::size_t{0};
  });
  service.add_pending();
  for (int worker = 0; worker < line.workers(); ++worker) {
    runtime.spawn([&] {
      while (!problem.ended()) {
        dovetail::spawn([&] { problem.compute(); }).wait();
      }
    });
  }
  runtime.wait();
  return problem.finish();
}
