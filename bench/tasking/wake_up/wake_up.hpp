// The problem: one thread has something for another one that sleeps. How long it takes until the first instruction there.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "harness/harness.hpp"

namespace bench {

class WakeUp {
 public:
  /// Declares its options on the command line.
  explicit WakeUp(CommandLine& line)
      : line_(line),
        wakes_(line.size("wakes", 500, "times that somebody is woken")),
        rest_(line.size("rest", 500, "microseconds before each, so that who is to be woken sleeps")) {}

  /// The woken task or thread calls this before anything else.
  void arrived() noexcept { arrival_.store(wall_nanoseconds(), std::memory_order_release); }

  /// Calls `wake`, which has `arrived` called elsewhere, again and again; prints the report and gives the exit status.
  [[nodiscard]] int measure(const std::function<void()>& wake) {
    Report report(line_);
    const std::int64_t unreported = line_.warmup() * wakes_;
    for (std::int64_t i = 0; i < unreported + line_.repeat() * wakes_; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(rest_));
      arrival_.store(0, std::memory_order_relaxed);
      const std::int64_t start = wall_nanoseconds();
      wake();
      std::int64_t arrival = 0;
      while ((arrival = arrival_.load(std::memory_order_acquire)) == 0) std::this_thread::yield();
      if (arrival < start) report.wrong("it arrived before it was woken");
      if (i >= unreported) report.add("ns", static_cast<double>(arrival - start));
    }
    return report.finish();
  }

 private:
  CommandLine& line_;
  const std::int64_t& wakes_;
  const std::int64_t& rest_;
  std::atomic<std::int64_t> arrival_{0};
};

}  // namespace bench
