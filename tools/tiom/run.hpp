/// @file
/// One run: the tasks of a plan, in one variant, timed from the first spawn to the last completion.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dovetail/file.hpp"
#include "plan.hpp"
#include "settings.hpp"

namespace dovetail::tiom {

/// What a run did.
struct RunResult {
  double seconds = 0;              ///< From before the first spawn until everything had completed.
  std::uint64_t operations = 0;    ///< Transfers that moved all of their block.
  std::uint64_t computations = 0;  ///< Computations done.
  double cpu_seconds = 0;          ///< Processor time of the process meanwhile, the kernel's part included.
  bool complete = false;           ///< Everything that was planned was done within the time limit.
  std::uint64_t wrong_blocks = 0;  ///< Blocks that were not as they must be; only where the settings ask to verify.
};

/// What the tasks of one run share, whichever runtime runs them. Its functions are called by tasks; two calls with the
/// same slot must be ordered by the caller.
class RunState {
 public:
  /// Opens the file and takes memory for the buffers. @throws IoError; std::invalid_argument when memory does not suffice.
  RunState(const Settings& settings, const Point& point, const Plan& plan);
  ~RunState();
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  /// Starts the clock.
  void start();
  /// Stops it, checks what is to be checked, and says what was done. Once, after all tasks.
  RunResult finish();

  /// Whether the time limit is over: no round may begin.
  bool late() const noexcept;
  /// At the begin of a round: whether `series` goes on. Once it does not, none of its tasks does anything.
  bool begin_round(std::uint64_t series) noexcept;
  /// Whether `series` was told to go on.
  bool goes_on(std::uint64_t series) const noexcept { return !stopped_[series].load(std::memory_order_relaxed); }
  /// One computation.
  void compute_once() noexcept;
  /// A buffer of `slot`, ready for transfer `operation`: what it holds was checked, what it must hold was put in. A slot
  /// takes its buffers in turn, so that a run goes through its memory as a program goes through its data.
  std::span<std::byte> buffer_for(std::uint64_t operation, std::uint64_t slot);
  /// One transfer by plain calls of this thread, and what it moved is counted. @throws IoError.
  void transfer_plainly(std::uint64_t operation, std::uint64_t slot);
  /// Where the bytes of a transfer are counted.
  std::size_t* transferred(std::uint64_t operation) noexcept { return &transferred_[operation]; }

  const Settings& settings() const noexcept { return settings_; }  ///< As given.
  const Point& point() const noexcept { return point_; }           ///< As given.
  const Plan& plan() const noexcept { return plan_; }              ///< As given.
  /// The file for plain calls.
  int descriptor() const noexcept { return descriptor_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const noexcept;
  };
  std::span<std::byte> buffer(std::uint64_t place) noexcept {
    return {memory_.get() + place * point_.block, point_.block};
  }
  std::uint64_t place_for(std::uint64_t operation, std::uint64_t slot) const noexcept;
  void check_place(std::uint64_t place) noexcept;

  const Settings& settings_;
  const Point& point_;
  const Plan& plan_;
  int descriptor_;
  std::uint64_t slots_;   // Transfers that may be under way at once.
  std::uint64_t places_;  // Buffers: as many for each slot.
  std::unique_ptr<std::byte, Unmap> memory_;
  std::vector<std::uint64_t> pending_;  ///< By place: the transfer whose bytes are still to be checked, plus one.
  std::vector<std::size_t> transferred_;
  std::unique_ptr<std::atomic<bool>[]> stopped_;
  std::atomic<std::uint64_t> computations_ = 0;
  std::atomic<std::uint64_t> wrong_ = 0;
  std::uint64_t iterations_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point deadline_;
  double cpu_before_ = 0;
};

/// Runs `plan` once. The file is prepared. @throws as `RunState`; TaskFailed when a task failed; std::invalid_argument for
/// an engine that is not known; std::runtime_error for a variant that was not built.
RunResult run_once(const Settings& settings, const Point& point, const Plan& plan, Variant variant);

/// The same by a thread for each series; in `run_threads.cpp`.
void run_threads(RunState& state);
/// More series than this are refused for `run_threads`.
inline constexpr std::uint64_t most_threads = 10'000;
/// The same on OpenMP; in `run_openmp.cpp`.
void run_openmp(RunState& state);
/// Whether this program was built with the OpenMP variant.
bool has_openmp() noexcept;

}  // namespace dovetail::tiom
