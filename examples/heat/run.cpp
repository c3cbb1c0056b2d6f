#include "run.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "checkpoint_writer.hpp"
#include "failure_report.hpp"
#include "initial_field.hpp"
#include "report.hpp"
#include "restart.hpp"
#include "solver.hpp"

namespace heat {
namespace {

constexpr std::size_t default_block = 256;

// Holds the directory against a second run for as long as the process lives, however it ends.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) {
      throw BadInput(directory + ": cannot be made: " + error.message());
    }
    descriptor_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ < 0) {
      throw BadInput(directory + ": cannot be opened: " + std::strerror(errno));
    }
    if (::access(directory.c_str(), W_OK) != 0) {
      const int reason = errno;
      ::close(descriptor_);
      throw BadInput(directory + ": cannot be written: " + std::strerror(reason));
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor_);
      throw BadInput(directory + ": is in use by another run");
    }
  }
  ~DirectoryLock() { ::close(descriptor_); }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int descriptor_;
};

// Found out before the computation, not after it.
void require_writable(const std::string& option, const std::string& path) {
  if (!path.empty() && !std::ofstream(path, std::ios::app)) {
    throw BadInput(option + ": " + path + " cannot be written: " + std::strerror(errno));
  }
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    throw std::system_error(errno, std::generic_category(), path);
  }
}

Restored begin(const Options& options, const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    if (candidate.info) {
      throw BadInput(candidate.path + ": is there already, complete, of step " + std::to_string(candidate.info->step) +
                     ": continue with --restart, remove it, or choose another --directory");
    }
  }
  return {load_initial_field(options.field, options.size, options.block.value_or(default_block)), 0, {}};
}

void tell_failure(const std::exception& failure, const Options& options) {
  const RootCause cause = root_cause(failure);
  std::fprintf(stderr, "heat: %s%s%s\n", cause.label.empty() ? "" : (cause.label + " failed: ").c_str(),
               cause.text.c_str(), cause.advice.empty() ? "" : ("; " + cause.advice).c_str());
  const std::vector<Candidate> left = survey(options.directory);
  if (left.front().info) {
    std::fprintf(stderr, "heat: step %llu is safe in %s; --restart goes on from there\n",
                 static_cast<unsigned long long>(left.front().info->step), left.front().path.c_str());
  } else {
    std::fprintf(stderr, "heat: no checkpoint was complete yet; begin again\n");
  }
}

}  // namespace

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
