#include "run.hpp"

#include <cstdio>
#include <utility>

#include "checkpoint_writer.hpp"
#include "directory_lock.hpp"
#include "failure_report.hpp"
#include "initial_field.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "restart.hpp"
#include "solver.hpp"

namespace heat {
namespace {

Restored begin(const Options& options, const std::vector<Candidate>& candidates) {
  require_nothing_complete(candidates);
  Field field = load_initial_field(options.field, options.size, options.block.value_or(default_block));
  const Part part = Part::all(field.shape());
  return {std::move(field), part, 0, {}};
}

}  // namespace

void tell_failure(const std::exception& failure, const Options& options) {
  const RootCause cause = root_cause(failure);
  std::string text = "heat: " + (cause.label.empty() ? "" : cause.label + " failed: ") + cause.text +
                     (cause.advice.empty() ? "" : "; " + cause.advice) + "\n";
  const std::vector<Candidate> left = survey(options.directory);
  if (left.front().info) {
    text += "heat: step " + std::to_string(left.front().info->step) + " is safe in " + left.front().path +
            "; --restart goes on from there\n";
  } else {
    text += "heat: no checkpoint was complete yet; begin again\n";
  }
  // At once, since a starter of ranks may pass on only what it got before the first of them ended.
  std::fputs(text.c_str(), stderr);
}

int run(const Options& options) {
  const DirectoryLock lock(options.directory);
  require_writable("--json", options.json);
  require_writable("--trace", options.trace);
  std::vector<Candidate> candidates = survey(options.directory);
  // Reading the initial field needs no runtime, and failing is quicker without.
  std::optional<Restored> state;
  if (!options.restart) {
    state = begin(options, candidates);
  }

  dovetail::Options settings;
  settings.workers = options.workers;
  dovetail::Runtime runtime(settings);
  if (options.restart) {
    Meter unreported;
    state = restart(runtime, BlockIo(options.io, unreported), options, candidates);
    std::fprintf(stderr, "heat: restarted from step %llu in %s\n", static_cast<unsigned long long>(state->step),
                 state->path.c_str());
  }
  Field& field = state->field;

  Meter meter;
  Report report;
  try {
    CheckpointWriter writer(runtime, field, BlockIo(options.io, meter), meter,
                            {options.directory, options.direct, options.copies, overwriting_order(candidates)});
    Progress progress(options.progress, (options.steps - state->step) * field.blocks().size(), [&writer] {
      return std::to_string(writer.committed_count()) + " checkpoints on disk, the last of step " +
             std::to_string(writer.committed_step());
    });
    if (!options.trace.empty()) {
      dovetail::trace::start();
    }
    const auto start = Meter::Clock::now();
    solve(runtime, field, writer, {state->step, options.steps, options.checkpoint_every}, meter, progress);
    report.total = std::chrono::duration<double>(Meter::Clock::now() - start).count();
    report.direct = writer.direct();
    report.checkpoints = writer.committed_count();
    report.checkpoint_bytes = writer.checkpoint_bytes();
    report.checksum = writer.final_checksum();
  } catch (const std::exception& failure) {
    tell_failure(failure, options);
    return 1;
  }
  report.io = options.io;
  report.shape = field.shape();
  report.steps = options.steps;
  report.restarted_from = state->step;
  report.workers = runtime.workers();
  report.bytes_written = meter.bytes_written();
  report.compute = meter.compute_seconds() / runtime.workers();
  report.io_time = meter.io_seconds();
  report.hidden = meter.hidden_seconds();
  if (!options.trace.empty()) {
    dovetail::trace::stop();
    report.trace = dovetail::trace::summarize();
    dovetail::trace::write(options.trace);
  }
  if (!options.json.empty()) {
    write_text(options.json, to_json(report));
  }
  std::fputs(to_text(report).c_str(), stdout);
  return 0;
}

}  // namespace heat
