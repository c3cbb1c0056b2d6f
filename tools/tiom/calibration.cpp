#include "calibration.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <barrier>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "statistics.hpp"

namespace dovetail::tiom {
namespace {

double now_ms(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double trial_ms(std::uint64_t iterations) {
  const double start = now_ms(CLOCK_THREAD_CPUTIME_ID);
  compute(iterations);
  return now_ms(CLOCK_THREAD_CPUTIME_ID) - start;
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

namespace {

Calibration calibrate_once(unsigned workers) {
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
  // Of all cores.
  std::vector<double> processor(series);
  std::vector<double> wall(series);
  const auto work = [&](std::size_t index) {
    if (index < cores.size()) {
      bind_to(cores[index]);
    }
    for (std::size_t each = 0; each < series; ++each) {
      line.arrive_and_wait();
      const double start = now_ms(CLOCK_MONOTONIC);
      double own = 0;
      for (int trial = 0; trial < trials; ++trial) {
        own += trial_ms(iterations);
      }
      const std::lock_guard guard(mutex);
      processor[each] += own;
      wall[each] += now_ms(CLOCK_MONOTONIC) - start;
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(computing);
  for (std::size_t index = 0; index < computing; ++index) {
    threads.emplace_back(work, index);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const double turns = static_cast<double>(iterations) * trials * static_cast<double>(computing);
  return {turns / median(processor), median(processor) / median(wall)};
}

}  // namespace

Calibration calibrate(unsigned workers) {
  constexpr int attempts = 3;
  Calibration best = calibrate_once(workers);
  for (int attempt = 1; attempt < attempts && best.share < least_share; ++attempt) {
    const Calibration again = calibrate_once(workers);
    best = again.share > best.share ? again : best;
  }
  return best;
}

double calibrate_and_tell(unsigned workers) {
  const Calibration calibration = calibrate(workers);
  if (calibration.share < least_share) {
    std::fprintf(stderr,
                 "dovetail-tiom: this machine is busy: the calibration got %.0f %% of the cores. Times and "
                 "efficiencies are of a "
                 "machine that others use as well; measure again when it is idle\n",
                 100 * calibration.share);
  }
  return calibration.iterations_per_ms;
}

}  // namespace dovetail::tiom
