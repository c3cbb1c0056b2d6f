// Waking a thread that waits for a condition variable: the floor under waking a worker.
#include <condition_variable>
#include <mutex>

#include "wake_up/wake_up.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("wake_up", "condition_variable");
  bench::WakeUp problem(line);
  line.parse(argc, argv);

  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t wanted = 0;
  bool ended = false;
  std::thread thread([&] {
    std::unique_lock lock(mutex);
    for (std::int64_t done = 0;; ++done) {
      changed.wait(lock, [&] { return wanted > done || ended; });
      if (ended) return;
      problem.arrived();
    }
  });
  const int status = problem.measure([&] {
    const std::lock_guard lock(mutex);
    ++wanted;
    changed.notify_one();
  });
  {
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_one();
  }
  thread.join();
  return status;
}
