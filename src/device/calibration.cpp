#include "device/calibration.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>

#include "device/failure.hpp"

namespace dovetail::device {
namespace {

constexpr std::uint64_t fill_block = mebibyte;
constexpr unsigned fill_depth = 8;
constexpr std::uint64_t least_memory = fill_block * fill_depth;
constexpr std::uint64_t most_memory = 64 * mebibyte;  // More than caches hold for one process.
constexpr double drifted = 0.10;                      // The same point at the beginning and at the end.
constexpr double threads_must_win = 1.10;             // As in the learner: they use more of the processor.
constexpr double hindered = 0.75;                     // Of what a shallower queue gives.
constexpr unsigned trial_depth = 16;
constexpr std::chrono::milliseconds least_share{10};  // Less says nothing about a point.

std::string readable(std::uint64_t bytes) {
  return bytes % mebibyte == 0 ? std::to_string(bytes / mebibyte) + " MiB"
         : bytes % 1024 == 0   ? std::to_string(bytes / 1024) + " KiB"
                               : std::to_string(bytes) + " bytes";
}

std::string describe(Direction direction, std::uint64_t block, unsigned depth) {
  return std::string(direction == Direction::read ? "reading " : "writing ") + readable(block) + " at depth " +
         std::to_string(depth);
}

}  // namespace

Calibration::Calibration(const std::string& path, const MeasureOptions& options)
    : options_(options), start_(Clock::now()), blocks_(options_.blocks), deepest_(options_.depths.back()) {
  curve_.device = facts_of(path);
  curve_.engine = options_.engine;
  curve_.sequential = options_.sequential;
  curve_.direct = options_.direct.value_or(curve_.device.direct);
  if (curve_.direct && !curve_.device.direct) {
    fail(EINVAL, "open with O_DIRECT (the file system refuses it)", path);
  }
  for (const std::uint64_t block : blocks_) {
    if (curve_.direct && block % std::max(curve_.device.direct_offset_align, 1U) != 0) {
      throw std::invalid_argument(
          "MeasureOptions::blocks is " + std::to_string(block) + ": direct transfers here are multiples of " +
          std::to_string(curve_.device.direct_offset_align) + "; ask for larger blocks, or not for direct ones");
    }
  }
  file_ = std::make_unique<CalibrationFile>(path, curve_.direct);
  // The same for all points, so that they differ in what they are said to differ in.
  memory_ = std::make_unique<TransferMemory>(
      std::max<std::uint64_t>({std::min<std::uint64_t>(wanted_bytes(), most_memory), blocks_.back(), least_memory}));
}

std::uint64_t Calibration::wanted_bytes() const noexcept {
  return options_.file_bytes != 0 ? options_.file_bytes : (curve_.device.in_memory ? 64 : 256) * mebibyte;
}

Load::Clock::duration Calibration::left() const noexcept { return start_ + options_.total_limit - Clock::now(); }

Curve Calibration::run() {
  choose_drivers();
  write_file();
  total_ = static_cast<unsigned>(options_.directions.size() * blocks_.size() * options_.depths.size());
  for (const Direction direction : options_.directions) {
    for (const std::uint64_t block : blocks_) {
      if (!stopped_) {
        measure_series({direction, block});
      }
    }
  }
  curve_.complete =
      curve_.points.size() == options_.directions.size() * options_.blocks.size() * options_.depths.size();
  curve_.steady = !curve_.points.empty() && std::all_of(curve_.points.begin(), curve_.points.end(),
                                                        [](const auto& point) { return point.steady; });
  repeat_fastest();
  if (thrown_ != nullptr) {
    std::rethrow_exception(thrown_);
  }
  note_missing();
  return curve_;
}

void Calibration::choose_drivers() {
  const unsigned depth = std::max(deepest_, fill_depth);
  std::string why_not;
  if (options_.engine != "auto") {
    drivers_.push_back(make_driver(options_.engine, depth, why_not));
    if (drivers_.back() == nullptr) {
      throw std::runtime_error("the engine " + options_.engine + " does not work here: " + why_not);
    }
    return;
  }
  for (const char* name : {"uring", "aio"}) {
    // Where both work they cost the device the same; without direct transfers libaio is not asynchronous.
    if (drivers_.empty() && (curve_.direct || std::string(name) != "aio")) {
      if (auto made = make_driver(name, depth, why_not)) {
        drivers_.push_back(std::move(made));
      }
    }
  }
  drivers_.push_back(make_driver("threads", depth, why_not));
}

// Blocks that were only reserved are not on the device: reading them would transfer nothing.
void Calibration::write_file() {
  std::uint64_t size = file_->reserve(std::max(wanted_bytes(), blocks_.back()), blocks_.front());
  const std::uint64_t block = std::min(fill_block, size);
  order_.resize(std::max<std::uint64_t>(1, size / block));
  std::iota(order_.begin(), order_.end(), 0U);
  const Series series{Direction::write, block};
  Load::Shape filling = shape(series, fill_depth);
  filling.limit = order_.size();
  const std::uint64_t needed = (std::min(blocks_.back(), size) + block - 1) / block;
  const Clock::time_point deadline = Clock::now() + options_.total_limit / 4;
  Load load(filling, [&](std::uint64_t count, Clock::time_point now) { return count < needed || now < deadline; });
  if (!report({Direction::write, 0}, 0)) {
    return;
  }
  drivers_.front()->run(load);
  if (load.error() == ENOSPC || load.error() == EDQUOT) {
    size = load.error_offset();  // less room than the file system had promised
  } else {
    check(load, series);
    size = std::min(size, load.count() == order_.size() ? size : load.count() * block);
  }
  if (size < blocks_.front()) {
    fail(ENOSPC, "pwrite", file_->name(), size, blocks_.front());
  }
  file_->truncate(size);
  file_->sync();
  while (blocks_.back() > size) {
    curve_.notes.push_back("Blocks of " + readable(blocks_.back()) +
                           " were left out: there is room for a file of only " + readable(size) + ".");
    blocks_.pop_back();
  }
  curve_.file_bytes = size;
}

Load::Shape Calibration::shape(const Series& series, unsigned depth) {
  Load::Shape shape;
  shape.descriptor = file_->descriptor();
  shape.direction = series.direction;
  shape.block = series.block;
  shape.depth = depth;
  shape.memory = memory_->data();
  shape.memory_size = memory_->size();
  shape.order = &order_;
  return shape;
}

void Calibration::arrange_blocks(const Series& series) {
  order_.resize(curve_.file_bytes / series.block);
  std::iota(order_.begin(), order_.end(), 0U);
  if (!options_.sequential) {
    std::mt19937_64 random(series.block);  // the same order in every run, so that runs can be compared
    std::shuffle(order_.begin(), order_.end(), random);
  }
}

Load::Clock::duration Calibration::share_of_next(Direction direction) {
  const auto points = static_cast<int>(total_ - done_);
  const Clock::duration share = std::min<Clock::duration>(options_.point_limit, left() / std::max(points, 1));
  if (share >= least_share) {
    return share;
  }
  note_once("The time was over before all points were measured.");
  // However long the file took, on a device that others use: a curve without any point is of no use.
  return curve_.has(direction) ? Clock::duration::zero() : least_share;
}

// Whether deeper queues than the last one that was measured need not be.
bool Calibration::deep_enough(const Series& series) const noexcept {
  double most = 0;
  double last = 0;
  for (const CurvePoint& point : curve_.points) {
    if (point.direction == series.direction && point.block == series.block) {
      last = point.bytes_per_second;
      most = std::max(most, last);
    }
  }
  return !options_.past_the_best && last < hindered * most;
}

void Calibration::measure_series(const Series& series) {
  const Clock::duration first = share_of_next(series.direction);
  if (first == Clock::duration::zero()) {
    return;
  }
  arrange_blocks(series);
  Driver& driver = driver_for(series, first / 4);
  for (const unsigned depth : options_.depths) {
    const Clock::duration limit = share_of_next(series.direction);
    if (stopped_ || limit == Clock::duration::zero() || deep_enough(series)) {
      return;
    }
    const CurvePoint* before = !curve_.points.empty() ? &curve_.points.back() : nullptr;
    if (before != nullptr && before->direction == series.direction && before->block == series.block) {
      // A full queue does not get faster by more waiting in it, and would have to be waited for.
      const double turn = static_cast<double>(depth) / before->operations_per_second;
      if (turn > 2 * std::chrono::duration<double>(options_.point_limit).count()) {
        char text[64];
        std::snprintf(text, sizeof text, "%.1f s.", turn);
        curve_.notes.push_back("Depths from " + std::to_string(depth) + " on were left out for " +
                               describe(series.direction, series.block, before->depth) +
                               ": a request would have waited for " + text);
        const auto place = std::find(options_.depths.begin(), options_.depths.end(), depth);
        done_ += static_cast<unsigned>(options_.depths.end() - place);
        return;
      }
    }
    const Measurement measurement = measure_point(driver, series, depth, limit);
    ++done_;
    if (measurement.any) {
      curve_.points.push_back(measurement.point);
    }
  }
}

Driver& Calibration::driver_for(const Series& series, Clock::duration limit) {
  if (drivers_.size() == 1) {
    return *drivers_.front();
  }
  const unsigned depth = std::min(deepest_, trial_depth);
  Driver* best = nullptr;
  double mark = 0;
  for (const auto& driver : drivers_) {
    const Measurement measurement = measure_point(*driver, series, depth, limit);
    if (best == nullptr || measurement.point.operations_per_second > mark * threads_must_win) {
      best = driver.get();
      mark = measurement.point.operations_per_second;
    }
  }
  return *best;
}

void Calibration::check(const Load& load, const Series& series) {
  if (thrown_ != nullptr) {
    std::rethrow_exception(thrown_);
  }
  if (load.error() != 0) {
    fail(load.error(), series.direction == Direction::read ? "pread" : "pwrite", file_->name(), load.error_offset(),
         series.block);
  }
}

// A burst shows when the device is asked for the same again after all else.
void Calibration::repeat_fastest() {
  for (const Direction direction : options_.directions) {
    const CurvePoint* fastest = nullptr;
    for (const CurvePoint& point : curve_.points) {
      if (point.direction == direction && (fastest == nullptr || point.bytes_per_second > fastest->bytes_per_second)) {
        fastest = &point;
      }
    }
    if (fastest == nullptr || stopped_ || left() < least_share) {
      curve_.steady = false;
      continue;
    }
    const Series series{direction, fastest->block};
    arrange_blocks(series);
    Driver* driver = drivers_.front().get();
    for (const auto& other : drivers_) {
      driver = other->name() == fastest->engine ? other.get() : driver;
    }
    const Measurement again =
        measure_point(*driver, series, fastest->depth, std::min<Clock::duration>(options_.point_limit, left()));
    if (again.any && !agree(again.point.bytes_per_second, fastest->bytes_per_second, drifted)) {
      curve_.steady = false;
      char text[160];
      std::snprintf(text, sizeof text, " gave %.1f MB/s at first and %.1f MB/s at the end: %s",
                    fastest->bytes_per_second / 1e6, again.point.bytes_per_second / 1e6,
                    again.point.bytes_per_second < fastest->bytes_per_second
                        ? "the device gives a burst first, or others use it; measure longer."
                        : "others used it meanwhile, or it had to warm up; measure longer.");
      curve_.notes.push_back(describe(direction, fastest->block, fastest->depth) + text);
    }
  }
}

bool Calibration::report(const Series& series, unsigned depth) {
  if (!options_.progress || stopped_) {
    return !stopped_;
  }
  const MeasureProgress progress{.done = done_,
                                 .total = total_,
                                 .direction = series.direction,
                                 .block = series.block,
                                 .depth = depth,
                                 .seconds = std::chrono::duration<double>(Clock::now() - start_).count()};
  try {
    stopped_ = !options_.progress(progress);
  } catch (...) {
    // Not through the threads that drive the load; it is thrown again when they have ended.
    thrown_ = std::current_exception();
    stopped_ = true;
  }
  return !stopped_;
}

void Calibration::note_once(const std::string& text) {
  if (std::find(curve_.notes.begin(), curve_.notes.end(), text) == curve_.notes.end()) {
    curve_.notes.push_back(text);
  }
}

void Calibration::note_missing() {
  const auto unsteady =
      std::count_if(curve_.points.begin(), curve_.points.end(), [](const auto& point) { return !point.steady; });
  if (unsteady > 0) {
    curve_.notes.push_back(
        std::to_string(unsteady) + " of " + std::to_string(curve_.points.size()) +
        " points did not come to rest within their time: others use the device, or its speed varies.");
  }
  if (curve_.device.loop) {
    curve_.notes.emplace_back("It is a loop device: reads may come from the page cache of its backing file.");
  }
}

}  // namespace dovetail::device
