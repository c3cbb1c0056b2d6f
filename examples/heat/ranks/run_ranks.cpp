#include "run_ranks.hpp"

#include <chrono>
#include <cstdio>
#include <iomanip>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "checkpoint_writer.hpp"
#include "directory_lock.hpp"
#include "initial_field.hpp"
#include "messages/polled_messages.hpp"
#include "messages_only.hpp"
#include "one_sided.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "restart.hpp"
#include "run.hpp"
#include "two_sided.hpp"

namespace heat {
namespace {

// That of the paper on TAGASPI (docs/papers.md) for this problem.
constexpr std::chrono::microseconds polling_period{150};

Part part_of(const Ranks& ranks, const Shape& whole) {
  if (whole.block_rows() < static_cast<std::size_t>(ranks.count())) {
    throw BadInput("--block: there are " + std::to_string(whole.block_rows()) + " rows of blocks for " +
                   std::to_string(ranks.count()) + " ranks: choose smaller blocks or fewer ranks");
  }
  return Part::of_rank(whole, static_cast<std::size_t>(ranks.rank()), static_cast<std::size_t>(ranks.count()));
}

// The field that the run begins with, each rank its part.
Restored begin(const Options& options, const Ranks& ranks, dovetail::Runtime* runtime,
               std::vector<Candidate>& candidates) {
  const PartOf mine = [&ranks](const Shape& whole) { return part_of(ranks, whole); };
  if (!options.restart) {
    require_nothing_complete(candidates);
    std::optional<Part> part;
    Field field = load_initial_field(options.field, options.size, options.block.value_or(default_block),
                                     [&](const Shape& whole) { return *(part = mine(whole)); });
    return {std::move(field), *part, 0, {}};
  }
  Meter unreported;
  // Without tasks there is a runtime just for this: the checkpoint is read by tasks in any case.
  std::optional<dovetail::Runtime> reader;
  if (runtime == nullptr) {
    reader.emplace(dovetail::Options{.workers = 1});
  }
  Restored state = restart(runtime != nullptr ? *runtime : *reader, BlockIo(options.io, unreported), options,
                           candidates, {mine, [&ranks](bool sound) { return ranks.all(sound); }, ranks.is_first()});
  if (ranks.is_first()) {
    std::fprintf(stderr, "heat: restarted from step %llu in %s\n", static_cast<unsigned long long>(state.step),
                 state.path.c_str());
  }
  return state;
}

std::unique_ptr<RankSolver> solver_of(Variant variant, dovetail::Runtime& runtime, const Ranks& ranks,
                                      const Part& part) {
  if (variant == Variant::one_sided) {
    return one_sided(runtime, ranks, part);
  }
  if (variant == Variant::multiple) {
    return two_sided(runtime, ranks, part, std::make_unique<messages::PolledMessages>(runtime, polling_period));
  }
  return two_sided(runtime, ranks, part, messages::task_aware_messages());
}

// What a run has measured, in this rank.
struct Measured {
  Report report;
  double seconds = 0;  // until the last update
};

template <class Writer>
void take(Measured& into, const Writer& writer) {
  into.report.direct = writer.direct();
  into.report.checkpoints = writer.committed_count();
  into.report.checkpoint_bytes = writer.checkpoint_bytes();
  into.report.checksum = writer.final_checksum();
}

// Rank 0 makes the files; the others find them there.
template <class Make>
auto after_first(const Ranks& ranks, const Make& make) {
  if (!ranks.is_first()) {
    ranks.barrier();
  }
  auto made = make();
  if (ranks.is_first()) {
    ranks.barrier();
  }
  return made;
}

void compute(const RankOptions& options, const Ranks& ranks, dovetail::Runtime* runtime, RankSolver* solver,
             Restored& state, const std::vector<Candidate>& candidates, Meter& meter, Measured& measured) {
  const Plan plan{state.step, options.heat.steps, options.heat.checkpoint_every};
  const std::uint64_t updates = (plan.last_step - plan.first_step) * state.part.blocks();
  const std::vector<std::size_t> order = overwriting_order(candidates);
  Progress progress(options.heat.progress && ranks.is_first(), updates, [] { return std::string("rank 0"); });
  if (!options.heat.trace.empty()) {
    dovetail::trace::start();
  }
  if (runtime == nullptr) {
    auto checkpoints = after_first(ranks, [&] {
      return std::make_unique<PlainCheckpoints>(ranks, state.part, state.field, meter, options.heat.directory, order,
                                                options.heat.direct);
    });
    ranks.barrier();
    Sweeps sweeps(state.field, meter, progress, updates);
    solve_by_messages_only(ranks, sweeps, *checkpoints, state.part, plan);
    measured.seconds = sweeps.seconds();
    take(measured, *checkpoints);
    return;
  }
  auto writer = after_first(ranks, [&] {
    return std::make_unique<CheckpointWriter>(
        *runtime, state.field, BlockIo(options.heat.io, meter), meter,
        WriterSettings{options.heat.directory, options.heat.direct, options.heat.copies, order, state.part,
                       &solver->coauthors()});
  });
  ranks.barrier();
  Sweeps sweeps(state.field, meter, progress, updates);
  try {
    solver->begin(sweeps, plan);
    run_steps(*runtime, [&](std::uint64_t step) { solver->spawn(step); }, *writer, plan);
  } catch (const std::exception& failure) {
    // Here, since other tasks go on with what this function owns, and some wait for a rank that waits for this one.
    tell_failure(failure, options.heat);
    Ranks::end_all(1);
  }
  measured.seconds = sweeps.seconds();
  take(measured, *writer);
}

std::string json_of(const Measured& measured, Variant variant, const Ranks& ranks) {
  std::ostringstream text;
  text << std::setprecision(9) << "{\"program\": \"heat_ranks\", \"variant\": \"" << name_of(variant)
       << "\", \"ranks\": " << ranks.count() << ", \"seconds\": " << measured.seconds << ", \"checksum\": \""
       << hexadecimal(measured.report.checksum) << "\", \"run\": " << to_json(measured.report);
  std::string made = text.str();
  made.back() = '}';
  return made + "\n";
}

}  // namespace

void run_ranks(const RankOptions& options, const Ranks& ranks) {
  std::optional<DirectoryLock> lock;
  const std::string trace =
      options.heat.trace.empty() ? std::string{} : options.heat.trace + "." + std::to_string(ranks.rank());
  std::optional<dovetail::Runtime> runtime;
  std::vector<Candidate> candidates;
  std::optional<Restored> state;
  std::unique_ptr<RankSolver> solver;
  ranks.together([&] {
    if (ranks.is_first()) {
      lock.emplace(options.heat.directory);
      require_writable("--json", options.heat.json);
    }
    require_writable("--trace", trace);
  });
  ranks.together([&] {
    candidates = survey(options.heat.directory);
    if (options.variant != Variant::messages_only) {
      dovetail::Options settings;
      settings.workers = options.heat.workers;
      runtime.emplace(settings);
    }
  });
  ranks.together([&] { state.emplace(begin(options.heat, ranks, runtime ? &*runtime : nullptr, candidates)); });
  ranks.together([&] {
    if (runtime) {
      solver = solver_of(options.variant, *runtime, ranks, state->part);
    }
  });

  Meter meter;
  Measured measured;
  ranks.barrier();
  const auto start = Meter::Clock::now();
  try {
    compute(options, ranks, runtime ? &*runtime : nullptr, solver.get(), *state, candidates, meter, measured);
  } catch (const std::exception& failure) {
    tell_failure(failure, options.heat);
    Ranks::end_all(1);
  }
  Report& report = measured.report;
  report.total = ranks.greatest(std::chrono::duration<double>(Meter::Clock::now() - start).count());
  report.io = options.heat.io;
  report.shape = state->part.whole;
  report.steps = options.heat.steps;
  report.restarted_from = state->step;
  report.workers = runtime ? runtime->workers() : 1;
  report.bytes_written = static_cast<std::uint64_t>(ranks.sum(static_cast<double>(meter.bytes_written())));
  report.compute = ranks.sum(meter.compute_seconds()) / (report.workers * static_cast<unsigned>(ranks.count()));
  report.io_time = ranks.greatest(meter.io_seconds());
  report.hidden = ranks.greatest(meter.hidden_seconds());
  measured.seconds = ranks.greatest(measured.seconds);
  if (!trace.empty()) {
    dovetail::trace::stop();
    dovetail::trace::write(trace);
  }
  if (ranks.is_first()) {
    if (!options.heat.json.empty()) {
      write_text(options.heat.json, json_of(measured, options.variant, ranks));
    }
    std::printf("%s, %d ranks, %.3f s until the last update\n%s", name_of(options.variant), ranks.count(),
                measured.seconds, to_text(report).c_str());
  }
}

}  // namespace heat
