// Waking an idle worker from a thread outside of the runtime. `spawn`: by a new task. `resume`: by resuming a suspended one.
#include <string>

#include "tasking/common.hpp"
#include "wake_up/wake_up.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("wake_up", "dovetail");
  bench::WakeUp problem(line);
  const std::string& by = line.choice("by", {"spawn", "resume"}, "what wakes");
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  if (by == "spawn") return problem.measure([&] { runtime.spawn([&] { problem.arrived(); }); });

  std::atomic<bool> ended{false};
  dovetail::TaskHandle handle;
  std::atomic<bool> begun{false};
  auto task = runtime.spawn([&] {
    handle = dovetail::this_task::handle();
    begun.store(true);
    for (;;) {
      dovetail::this_task::suspend();
      if (ended.load()) return;
      problem.arrived();
    }
  });
  while (!begun.load()) std::this_thread::yield();
  const int status = problem.measure([&] { handle.resume(); });
  ended.store(true);
  handle.resume();
  task.get();
  return status;
}
