#include <stdexcept>

#include "run.hpp"

#ifdef TIOM_WITH_OPENMP
#include <omp.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include "dovetail/failure.hpp"
#include "dovetail_omp.h"

namespace dovetail::tiom {
namespace {

/// Starts transfer `operation` for the OpenMP task whose I/O is `io`. Its result, or a negative errno, is counted as the
/// bytes of other variants are.
void start_transfer(RunState& state, dovetail_omp_task* io, std::uint64_t operation, std::uint64_t slot) {
  const std::span<std::byte> buffer = state.buffer_for(operation, slot);
  const auto offset = static_cast<std::int64_t>(state.plan().offset(operation));
  auto* const result = reinterpret_cast<ssize_t*>(state.transferred(operation));
  if (reads(state.point().pattern)) {
    dovetail_omp_pread(io, state.descriptor(), buffer.data(), buffer.size(), offset, result);
  } else {
    dovetail_omp_pwrite(io, state.descriptor(), buffer.data(), buffer.size(), offset, result);
  }
}

void mixed_task(RunState& state, std::uintptr_t event, std::uint64_t series, std::uint64_t operation) {
  dovetail_omp_task* const io = dovetail_omp_begin(event);
  if (state.begin_round(series)) {
    state.compute_once();
    start_transfer(state, io, operation, series);
  }
  dovetail_omp_end(io);
}

void transfer_task(RunState& state, std::uintptr_t event, std::uint64_t series, std::uint64_t operation,
                   std::uint64_t slot) {
  dovetail_omp_task* const io = dovetail_omp_begin(event);
  if (state.goes_on(series)) {
    start_transfer(state, io, operation, slot);
  }
  dovetail_omp_end(io);
}

void compute_task(RunState& state, std::uint64_t series) {
  if (state.begin_round(series)) {
    state.compute_once();
  }
}

/// The tasks of one round; by the thread that makes all tasks.
void make_round(RunState& state, [[maybe_unused]] char* token, std::uint64_t series, std::uint64_t& operation) {
  RunState* const shared = &state;
  // Each task needs a copy of its own: the variable is gone, or changed, when it runs.
  omp_event_handle_t event;
  std::uint64_t mine = operation;
  static_cast<void>(event);
  static_cast<void>(mine);
  switch (state.point().mode) {
    case Mode::mix:
      ++operation;
#pragma omp task depend(inout : token[0]) detach(event) firstprivate(shared, series, mine)
      mixed_task(*shared, static_cast<std::uintptr_t>(event), series, mine);
      break;
    case Mode::one_to_one:
      ++operation;
#pragma omp task depend(inout : token[0]) firstprivate(shared, series)
      compute_task(*shared, series);
#pragma omp task depend(inout : token[0]) detach(event) firstprivate(shared, series, mine)
      transfer_task(*shared, static_cast<std::uintptr_t>(event), series, mine, series);
      break;
    case Mode::fjio: {
#pragma omp task depend(inout : token[0]) firstprivate(shared, series)
      compute_task(*shared, series);
      const std::uint64_t end = std::min(operation + fork_width, state.plan().operations());
      for (std::uint64_t slot = series * fork_width; operation < end; ++slot) {
        mine = operation++;
#pragma omp task depend(in : token[0]) detach(event) firstprivate(shared, series, mine, slot)
        transfer_task(*shared, static_cast<std::uintptr_t>(event), series, mine, slot);
      }
      break;
    }
    case Mode::fjc:
      for (std::uint64_t fork = 0; fork < fork_width; ++fork) {
#pragma omp task depend(in : token[0]) firstprivate(shared, series)
        compute_task(*shared, series);
      }
      ++operation;
#pragma omp task depend(inout : token[0]) detach(event) firstprivate(shared, series, mine)
      transfer_task(*shared, static_cast<std::uintptr_t>(event), series, mine, series);
      break;
  }
}

}  // namespace

bool has_openmp() noexcept { return true; }

void run_openmp(RunState& state) {
  // Its runtime has no other door.
  if (!state.settings().engine.empty() && setenv("DOVETAIL_ENGINE", state.settings().engine.c_str(), 1) != 0) {
    throw std::system_error(errno, std::generic_category(), "setenv DOVETAIL_ENGINE");
  }
  if (const int error = dovetail_omp_start(); error != 0) {
    throw std::runtime_error("no I/O for OpenMP tasks: dovetail_omp_start gives error " + std::to_string(-error));
  }
  std::vector<char> tokens(state.point().series);
  char* const token = tokens.data();
#pragma omp parallel num_threads(static_cast<int>(state.settings().workers))
#pragma omp single
  {
    state.start();
    std::uint64_t operation = 0;
    for (std::uint64_t round = 0; round < state.plan().rounds() && !state.late(); ++round) {
      const std::uint64_t series = round % tokens.size();
      make_round(state, token + series, series, operation);
    }
  }
  const std::string call = reads(state.point().pattern) ? "pread" : "pwrite";
  for (std::uint64_t operation = 0; operation < state.plan().operations(); ++operation) {
    const auto result = static_cast<ssize_t>(*state.transferred(operation));
    if (result < 0) {
      throw IoError(static_cast<int>(-result), call, state.settings().file, state.plan().offset(operation),
                    state.point().block);
    }
  }
}

}  // namespace dovetail::tiom

#else

namespace dovetail::tiom {

bool has_openmp() noexcept { return false; }
void run_openmp(RunState&) { throw std::runtime_error("this dovetail-tiom was built without OpenMP"); }

}  // namespace dovetail::tiom

#endif
