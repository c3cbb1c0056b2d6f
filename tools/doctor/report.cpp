#include "report.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "device/device.hpp"
#include "device/measure.hpp"

namespace dovetail::doctor {
namespace {

// One line that is written over; where standard error is no terminal, one line for each device.
class ProgressLine {
 public:
  explicit ProgressLine(std::string what) : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {
    if (!terminal_) {
      std::fprintf(stderr, "measuring %s\n", what_.c_str());
    }
  }
  ~ProgressLine() {
    if (terminal_) {
      std::fputs("\r\033[K", stderr);
    }
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const device::MeasureProgress& progress) const {
    if (!terminal_) {
      return;
    }
    if (progress.block == 0) {
      std::fprintf(stderr, "\r\033[Kmeasuring %s: writing its file", what_.c_str());
    } else {
      std::fprintf(stderr, "\r\033[Kmeasuring %s: %u of %u, %s %llu KiB at depth %u, %.1f s", what_.c_str(),
                   progress.done + 1, progress.total, progress.direction == Direction::read ? "reading" : "writing",
                   static_cast<unsigned long long>(progress.block / 1024), progress.depth, progress.seconds);
    }
  }

 private:
  std::string what_;
  bool terminal_;
};

// The folder that is meant by what was asked for: for what is mounted, where.
void add(std::vector<CheckedDevice>& devices, Facts device) {
  const bool known = std::any_of(devices.begin(), devices.end(),
                                 [&](const CheckedDevice& other) { return other.device.number == device.number; });
  if (!known) {
    CheckedDevice checked;
    checked.device = std::move(device);
    devices.push_back(std::move(checked));
  }
}

std::vector<CheckedDevice> find_devices(const DoctorOptions& options) {
  std::vector<CheckedDevice> devices;
  for (const std::string& path : options.paths) {
    add(devices, device::facts_of(path));
  }
  if (!options.paths.empty()) {
    return devices;
  }
  const char* temporary = std::getenv("TMPDIR");
  for (const std::string& path : {std::string("."), std::string(temporary != nullptr ? temporary : "/tmp")}) {
    try {
      add(devices, device::facts_of(path));
    } catch (const std::system_error& error) {
      std::fprintf(stderr, "dovetail-doctor: %s\n", error.what());
    }
  }
  for (Facts& device : device::facts_of_mounted()) {
    if (!device.in_memory && device.file_system != "overlay") {
      add(devices, std::move(device));
    }
  }
  return devices;
}

std::string reason_not_to_measure(const CheckedDevice& checked, const DoctorOptions& options) {
  if (!options.measure) {
    return "--no-measure was given";
  }
  const Facts& device = checked.device;
  if (options.paths.empty() && (device.network || device.fuse)) {
    return "it is served by a program or another machine, which may not answer: name it to have it measured";
  }
  return device.read_only ? "it is mounted read-only" : std::string();
}

device::MeasureOptions measure_options(const DoctorOptions& options, const Facts& device, const ProgressLine& line) {
  device::MeasureOptions made;
  made.engine = options.engine;
  made.depths = options.depths;
  made.point_limit = options.point_limit;
  made.total_limit = options.total_limit;
  made.blocks = options.blocks;
  if (device.direct && device.direct_offset_align > 512) {
    std::erase_if(made.blocks, [&](std::uint64_t block) { return block % device.direct_offset_align != 0; });
  }
  made.progress = [&line](const device::MeasureProgress& progress) {
    line.show(progress);
    return true;
  };
  return made;
}

// What the largest blocks gave, so that programs begin with it.
void remember(const CheckedDevice& checked) {
  for (const Direction direction : device::directions) {
    const auto knee = checked.curve->knee(direction);
    std::vector<device::Level> levels;
    for (const device::CurvePoint& point : checked.curve->points) {
      if (knee && point.direction == direction && point.block == knee->block && point.bytes_per_second > 0) {
        levels.push_back({point.depth, point.bytes_per_second / 1e6});
      }
    }
    if (!levels.empty()) {
      device::device_of(checked.device.path).set_curve(direction, std::move(levels));
    }
  }
}

void measure_device(CheckedDevice& checked, const DoctorOptions& options) {
  const ProgressLine line(checked.device.path);
  device::MeasureOptions how = measure_options(options, checked.device, line);
  checked.curve = device::measure(checked.device.path, how);
  remember(checked);
  if (!checked.curve->direct) {
    return;
  }
  // Is the page cache faster? Asked at the depth that was best, for a share of the time.
  std::vector<unsigned> depths;
  std::uint64_t block = 0;
  for (const Direction direction : how.directions) {
    if (const auto best = checked.curve->knee(direction)) {
      depths.push_back(best->depth);
      block = best->block;
    }
  }
  if (!depths.empty()) {
    how.direct = false;
    how.depths = std::move(depths);
    how.blocks = {block};
    how.total_limit = std::max(how.point_limit, how.total_limit / 2);
    checked.cached = device::measure(checked.device.path, how);
  }
}

}  // namespace

Report examine(const DoctorOptions& options) {
  Report report;
  report.machine = look_at_machine();
  report.engines = device::probe_engines();
  for (const device::EngineProbe& engine : report.engines) {
    if (engine.works && report.engine.empty()) {
      report.engine = engine.name;
      report.engine_reason = engine.name == "threads" ? "no asynchronous engine works here"
                                                      : "the first that works; kinds of requests for which threads are"
                                                        " measured to be faster go to threads";
    }
  }
  if (const char* forced = std::getenv("DOVETAIL_ENGINE"); forced != nullptr && *forced != '\0') {
    report.engine_reason = std::string("DOVETAIL_ENGINE=") + forced +
                           " is set, and decides; without it: " + report.engine + ", " + report.engine_reason;
    report.engine = std::string(forced) == "auto" ? report.engine : forced;
  }
  if (options.engine != "auto" && options.measure) {
    const auto asked = std::find_if(report.engines.begin(), report.engines.end(),
                                    [&](const auto& engine) { return engine.name == options.engine; });
    if (asked != report.engines.end() && !asked->works) {
      throw std::invalid_argument("--engine " + options.engine + ": " + asked->why_not);
    }
  }
  report.transports = comm::rma::probe_transports();
  report.devices = find_devices(options);
  for (CheckedDevice& checked : report.devices) {
    checked.why_not_measured = reason_not_to_measure(checked, options);
    if (checked.why_not_measured.empty()) {
      try {
        measure_device(checked, options);
      } catch (const std::exception& error) {
        checked.why_not_measured = error.what();
        checked.failed = !options.paths.empty();
      }
    }
    const Curve* curve = checked.curve ? &*checked.curve : nullptr;
    const Curve* cached = checked.cached ? &*checked.cached : nullptr;
    checked.reading = choose(checked.device, report.engine, Direction::read, curve, cached);
    checked.writing = choose(checked.device, report.engine, Direction::write, curve, cached);
  }
  return report;
}

}  // namespace dovetail::doctor
