#include "calibration.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "statistics.hpp"

namespace dovetail::tiom {
namespace {

double trial_ms(std::uint64_t iterations) {
  const auto start = std::chrono::steady_clock::now();
  compute(iterations);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The cores this process may use, at most `most` of them.
std::vector<std::size_t> usable_cores(unsigned most) {
  std::vector<std::size_t> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (std::size_t core = 0; core < CPU_SETSIZE && cores.size() < most; ++core) {
      if (CPU_ISSET(core, &allowed)) {
        cores.push_back(core);
      }
    }
  }
  return cores;
}

void bind_to(std::size_t core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

}  // namespace

void compute(std::uint64_t iterations) noexcept {
  std::uint64_t value = iterations | 1;
  for (std::uint64_t turn = 0; turn < iterations; ++turn) {
    value ^= value << 13;
    value ^= value >> 7;
    value ^= value << 17;
    // The compiler must neither drop the loop nor find a shorter way to its end.
    asm volatile("" : "+r"(value));
  }
}

double calibrate(unsigned workers) {
  std::uint64_t iterations = 1024;
  while (trial_ms(iterations) < 0.5) {
    iterations *= 2;
  }
  const std::vector<std::size_t> cores = usable_cores(std::max(workers, 1U));
  constexpr int series = 5;
  constexpr int trials = 120;
  const std::size_t computing = std::max<std::size_t>(cores.size(), 1);
  std::barrier line(static_cast<std::ptrdiff_t>(computing));
  std::mutex mutex;
  std::vector<double> took(series);  // Of all cores.
  const auto work = [&](std::size_t index) {
    if (index < cores.size()) {
      bind_to(cores[index]);
    }
    for (double& all : took) {
      line.arrive_and_wait();
      double own = 0;
      for (int trial = 0; trial < trials; ++trial) {
        own += trial_ms(iterations);
      }
      const std::lock_guard guard(mutex);
      all += own;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t index = 0; index < computing; ++index) {
    threads.emplace_back(work, index);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return static_cast<double>(iterations) * trials * static_cast<double>(computing) / median(took);
}

}  // namespace dovetail::tiom
