#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "base/mutex.hpp"
#include "device/calibration.hpp"

namespace dovetail::device {
namespace {

constexpr double alike = 0.05;  // Two windows in a row.
constexpr std::chrono::milliseconds shortest_window{5};

}  // namespace

double rate_between(const Mark& from, const Mark& to) noexcept {
  const double seconds = std::chrono::duration<double>(to.time - from.time).count();
  return static_cast<double>(to.count - from.count) / std::max(seconds, 1e-9);
}

bool agree(double one, double other, double share) noexcept {
  return std::abs(one - other) <= share * std::max(one, other);
}

Calibration::Measurement Calibration::measure_point(Driver& driver, const Series& series, unsigned depth,
                                                    Clock::duration limit) {
  const Clock::time_point begun = Clock::now();
  Measurement measurement =
      curve_.direct ? measure_continuous(driver, series, depth, limit) : measure_batches(driver, series, depth, limit);
  CurvePoint& point = measurement.point;
  point.direction = series.direction;
  point.block = series.block;
  point.depth = depth;
  point.engine = driver.name();
  point.bytes_per_second = point.operations_per_second * static_cast<double>(series.block);
  point.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return measurement;
}

// Without a pause between windows: to empty a deep queue would take longer than a window.
Calibration::Measurement Calibration::measure_continuous(Driver& driver, const Series& series, unsigned depth,
                                                         Clock::duration limit) {
  const Clock::time_point begun = Clock::now();
  const Clock::time_point deadline = begun + limit;
  const Clock::duration window = std::max<Clock::duration>(limit / 10, shortest_window);
  std::atomic<Clock::time_point> next{begun + window};
  base::Mutex mutex;
  std::vector<Mark> marks;
  bool steady = false;
  Load* running = nullptr;
  Load load(shape(series, depth), [&](std::uint64_t count, Clock::time_point now) {
    if (now < next.load(std::memory_order_relaxed) || !mutex.try_lock()) {
      return true;
    }
    const base::LockGuard lock(mutex, std::adopt_lock);
    if (now < next.load(std::memory_order_relaxed)) {
      return true;
    }
    // The first turn of the queue only fills it.
    if (marks.empty() && count < depth && now < deadline) {
      next.store(now, std::memory_order_relaxed);
      return true;
    }
    if (marks.empty()) {
      running->forget_latencies();
    }
    marks.push_back({now, count});
    next.store(now + window, std::memory_order_relaxed);
    if (marks.size() >= 3) {
      const Mark* last = &marks.back();
      steady = agree(rate_between(last[-1], last[0]), rate_between(last[-2], last[-1]), alike) &&
               !beyond_throttle(series, rate_between(last[-2], last[0]));
    }
    return report(series, depth) && !steady && now < deadline;
  });
  running = &load;
  driver.run(load);
  check(load, series);
  Measurement measurement;
  measurement.any = load.count() > 0 && !stopped_;
  measurement.point.steady = steady;
  if (marks.size() >= 3) {
    // If it never came to rest, the later half says more about what comes than the earlier.
    const std::size_t from = steady ? marks.size() - 3 : (marks.size() - 1) / 2;
    measurement.point.operations_per_second = rate_between(marks[from], marks.back());
  } else {
    measurement.point.operations_per_second = rate_between({begun, 0}, {Clock::now(), load.count()});
  }
  measurement.point.latency_median = load.latency(0.5);
  measurement.point.latency_p99 = load.latency(0.99);
  return measurement;
}

// Through the page cache a transfer has ended long before the device has done it. So a window is a number of requests and what it
// takes until all of it is on the device; a reading one begins with an empty cache.
Calibration::Measurement Calibration::measure_batches(Driver& driver, const Series& series, unsigned depth,
                                                      Clock::duration limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  const Clock::duration window = std::max<Clock::duration>(limit / 10, shortest_window);
  std::uint64_t requests = std::max<std::uint64_t>(2 * std::uint64_t{depth}, mebibyte / series.block);
  std::vector<double> rates;
  Measurement measurement;
  while (!stopped_) {
    requests = std::clamp<std::uint64_t>(requests, 1, std::max<std::uint64_t>(order_.size(), depth));
    Load::Shape batch = shape(series, depth);
    batch.limit = requests;
    Load load(batch, [](std::uint64_t, Clock::time_point) { return true; });
    if (series.direction == Direction::read) {
      file_->forget();
    }
    const Clock::time_point begun = Clock::now();
    driver.run(load);
    check(load, series);
    if (series.direction == Direction::write) {
      file_->sync();
    }
    const Clock::time_point now = Clock::now();
    const bool whole = now - begun >= window || requests >= order_.size();
    rates.push_back(rate_between({begun, 0}, {now, load.count()}));
    measurement.any = true;
    measurement.point.latency_median = load.latency(0.5);
    measurement.point.latency_p99 = load.latency(0.99);
    const std::size_t last = rates.size() - 1;
    const bool comparable = whole && last >= 1;
    measurement.point.steady = comparable && agree(rates[last], rates[last - 1], alike);
    measurement.point.operations_per_second = comparable ? (rates[last] + rates[last - 1]) / 2 : rates[last];
    if (!report(series, depth) || measurement.point.steady || now >= deadline) {
      break;
    }
    requests = whole ? requests : requests * 2;
  }
  measurement.any = measurement.any && !stopped_;
  return measurement;
}

// A rate that a known limit does not allow cannot last.
bool Calibration::beyond_throttle(const Series& series, double requests_per_second) const noexcept {
  const Throttle& throttle = curve_.device.throttle;
  const bool reading = series.direction == Direction::read;
  const std::uint64_t bytes = reading ? throttle.read_bytes_per_second : throttle.write_bytes_per_second;
  const std::uint64_t operations = reading ? throttle.read_operations_per_second : throttle.write_operations_per_second;
  const double block = static_cast<double>(series.block);
  return (bytes != 0 && requests_per_second * block > 1.1 * static_cast<double>(bytes)) ||
         (operations != 0 && requests_per_second > 1.1 * static_cast<double>(operations));
}

}  // namespace dovetail::device
