// A program without a runtime: a thread for each series, which computes and transfers in turn.
#include <algorithm>
#include <exception>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "run.hpp"

namespace dovetail::tiom {
namespace {

/// All rounds of one series. The operations that other variants fork in a round are done one after the other.
void run_series(RunState& state, std::uint64_t series) {
  const Mode mode = state.point().mode;
  const std::uint64_t width = transfers_per_round(mode);
  for (std::uint64_t round = series; round < state.plan().rounds(); round += state.point().series) {
    if (!state.begin_round(series)) {
      return;
    }
    for (std::uint64_t fork = 0; fork < computations_per_round(mode); ++fork) {
      state.compute_once();
    }
    const std::uint64_t end = std::min((round + 1) * width, state.plan().operations());
    std::uint64_t slot = series * width;
    for (std::uint64_t operation = round * width; operation < end; ++operation) {
      state.transfer_plainly(operation, slot++);
    }
  }
}

/// Threads that wait for a common start, and the first exception of any of them.
class SeriesThreads {
 public:
  /// @throws std::runtime_error when the system gives fewer threads.
  SeriesThreads(RunState& state, std::uint64_t count) : state_(state) {
    threads_.reserve(count);
    try {
      for (std::uint64_t series = 0; series < count; ++series) {
        threads_.emplace_back([this, series] { run(series); });
      }
    } catch (const std::system_error& error) {
      const std::string started = std::to_string(threads_.size());
      cancelled_ = true;
      join();
      throw std::runtime_error("the system gives " + started + " threads, not one for each of " +
                               std::to_string(count) + " series (" + error.what() + "): ask for fewer series");
    }
  }

  void run_all() {
    state_.start();
    join();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

 private:
  void run(std::uint64_t series) {
    start_.wait();
    if (cancelled_) {
      return;
    }
    try {
      run_series(state_, series);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = failure_ ? failure_ : std::current_exception();
    }
  }

  void join() {
    start_.count_down();
    threads_.clear();
  }

  RunState& state_;
  std::latch start_{1};
  bool cancelled_ = false;  // written before the latch opens
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;
};

}  // namespace

void run_threads(RunState& state) {
  SeriesThreads(state, std::min(state.point().series, state.plan().rounds())).run_all();
}

}  // namespace dovetail::tiom
