// Measures the curve of one device: which points, for how long, with which driver.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/calibration_file.hpp"
#include "device/curve.hpp"
#include "device/load.hpp"
#include "device/measure_options.hpp"

namespace dovetail::device {

/// A moment of a run: how many requests had ended by then.
struct Mark {
  Load::Clock::time_point time;
  std::uint64_t count;
};

/// Requests per second between two moments.
double rate_between(const Mark& from, const Mark& to) noexcept;
/// Whether two rates are alike within a share, such as 0.05.
bool agree(double one, double other, double share) noexcept;

class Calibration {
 public:
  /// @param options  That make sense, with blocks and depths in ascending order.
  Calibration(const std::string& path, const MeasureOptions& options);
  Curve run();

 private:
  using Clock = Load::Clock;
  struct Series {
    Direction direction;
    std::uint64_t block;
  };
  struct Measurement {
    CurvePoint point;
    bool any = false;  // At least one request ended.
  };

  void write_file();
  void arrange_blocks(const Series& series);
  void choose_drivers();
  Driver& driver_for(const Series& series, Clock::duration limit);
  void measure_series(const Series& series);
  bool deep_enough(const Series& series) const noexcept;
  void repeat_fastest();
  Measurement measure_point(Driver& driver, const Series& series, unsigned depth, Clock::duration limit);
  Measurement measure_continuous(Driver& driver, const Series& series, unsigned depth, Clock::duration limit);
  Measurement measure_batches(Driver& driver, const Series& series, unsigned depth, Clock::duration limit);
  Load::Shape shape(const Series& series, unsigned depth);
  bool beyond_throttle(const Series& series, double requests_per_second) const noexcept;
  void check(const Load& load, const Series& series);
  bool report(const Series& series, unsigned depth);
  void note_missing();
  void note_once(const std::string& text);
  Clock::duration left() const noexcept;
  /// What the next point may take. Zero: the time is over, and the direction has a point.
  Clock::duration share_of_next(Direction direction);
  std::uint64_t wanted_bytes() const noexcept;  // Of the file.

  const MeasureOptions options_;
  Curve curve_;
  const Clock::time_point start_;
  std::unique_ptr<CalibrationFile> file_;
  std::unique_ptr<TransferMemory> memory_;
  std::vector<std::unique_ptr<Driver>> drivers_;
  std::vector<std::uint32_t> order_;  // Of the blocks of the series that is measured.
  std::vector<std::uint64_t> blocks_;
  unsigned deepest_ = 0;
  unsigned done_ = 0;
  unsigned total_ = 0;
  bool stopped_ = false;  // By the callback.
  std::exception_ptr thrown_;
};

}  // namespace dovetail::device
