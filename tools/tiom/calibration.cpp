#include "calibration.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

namespace dovetail::tiom {
namespace {

double trial_ms(std::uint64_t iterations) {
  const auto start = std::chrono::steady_clock::now();
  compute(iterations);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// Binds the calling thread to the core it is on, and lets it go at the end.
class Bound {
 public:
  Bound() {
    known_ = pthread_getaffinity_np(pthread_self(), sizeof(before_), &before_) == 0;
    const int core = sched_getcpu();
    if (known_ && core >= 0) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(static_cast<std::size_t>(core), &one);
      pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    }
  }
  ~Bound() {
    if (known_) {
      pthread_setaffinity_np(pthread_self(), sizeof(before_), &before_);
    }
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  cpu_set_t before_ = {};
  bool known_ = false;
};

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

double calibrate() {
  const Bound bound;
  std::uint64_t iterations = 1024;
  while (trial_ms(iterations) < 0.5) {
    iterations *= 2;
  }
  double fastest = trial_ms(iterations);
  for (int trial = 0; trial < 200; ++trial) {
    fastest = std::min(fastest, trial_ms(iterations));
  }
  return static_cast<double>(iterations) / fastest;
}

}  // namespace dovetail::tiom
