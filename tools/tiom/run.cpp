#include "run.hpp"

#include <algorithm>

#include "dovetail/dovetail.hpp"

namespace dovetail::tiom {
namespace {

/// Spawns the tasks of a plan on a runtime of Dovetail. A series is one token in memory: tasks that follow each other
/// update it, tasks that may run side by side read it.
class Tasks {
 public:
  Tasks(RunState& state, Variant variant, Runtime& runtime)
      : state_(state), variant_(variant), runtime_(runtime), tokens_(state.point().series) {
    if (variant != Variant::standalone) {
      file_ = File::open(state.settings().file, O_RDWR,
                         {.direct = state.settings().direct ? Direct::always : Direct::never});
    }
  }

  void spawn_all() {
    const Mode mode = state_.point().mode;
    std::uint64_t operation = 0;
    for (std::uint64_t round = 0; round < state_.plan().rounds() && !state_.late(); ++round) {
      const std::uint64_t series = round % tokens_.size();
      switch (mode) {
        case Mode::mix:
          spawn_mixed(series, operation++);
          break;
        case Mode::one_to_one:
          spawn_computation(series, inout(tokens_[series]));
          spawn_transfer(series, operation++, series, inout(tokens_[series]));
          break;
        case Mode::fjio: {
          spawn_computation(series, inout(tokens_[series]));
          const std::uint64_t end = std::min(operation + fork_width, state_.plan().operations());
          for (std::uint64_t slot = series * fork_width; operation < end; ++slot) {
            spawn_transfer(series, operation++, slot, in(tokens_[series]));
          }
          break;
        }
        case Mode::fjc:
          for (std::uint64_t fork = 0; fork < fork_width; ++fork) {
            spawn_computation(series, in(tokens_[series]));
          }
          spawn_transfer(series, operation++, series, inout(tokens_[series]));
          break;
      }
    }
  }

 private:
  void spawn_mixed(std::uint64_t series, std::uint64_t operation) {
    runtime_.spawn({.label = "mix", .access = {inout(tokens_[series])}}, [this, series, operation] {
      if (state_.begin_round(series)) {
        state_.compute_once();
        transfer(operation, series);
      }
    });
  }

  void spawn_computation(std::uint64_t series, const Access& access) {
    runtime_.spawn({.label = "compute", .access = {access}}, [this, series] {
      if (state_.begin_round(series)) {
        state_.compute_once();
      }
    });
  }

  void spawn_transfer(std::uint64_t series, std::uint64_t operation, std::uint64_t slot, const Access& access) {
    runtime_.spawn({.label = "transfer", .access = {access}}, [this, series, operation, slot] {
      if (state_.goes_on(series)) {
        transfer(operation, slot);
      }
    });
  }

  void transfer(std::uint64_t operation, std::uint64_t slot) {
    if (variant_ == Variant::standalone) {
      state_.transfer_plainly(operation, slot);
      return;
    }
    const std::span<std::byte> buffer = state_.buffer_for(operation, slot);
    const std::uint64_t offset = state_.plan().offset(operation);
    const bool reading = reads(state_.point().pattern);
    std::size_t* const transferred = state_.transferred(operation);
    if (variant_ == Variant::blocking) {
      *transferred = reading ? file_.pread(buffer, offset) : file_.pwrite(buffer, offset);
    } else if (reading) {
      file_.ipread(buffer, offset, transferred);
    } else {
      file_.ipwrite(buffer, offset, transferred);
    }
  }

  RunState& state_;
  Variant variant_;
  Runtime& runtime_;
  std::vector<char> tokens_;
  File file_;
};

}  // namespace

RunResult run_once(const Settings& settings, const Point& point, const Plan& plan, Variant variant) {
  RunState state(settings, point, plan);
  if (variant == Variant::openmp || variant == Variant::threads) {
    variant == Variant::openmp ? run_openmp(state) : run_threads(state);
    return state.finish();
  }
  Runtime runtime({.workers = settings.workers, .engine = settings.engine});
  // Threads and their stacks exist before the clock starts.
  runtime.spawn([] {}).wait();
  Tasks tasks(state, variant, runtime);
  state.start();
  tasks.spawn_all();
  runtime.wait();
  return state.finish();
}

}  // namespace dovetail::tiom
