#include "metg/metg.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

namespace bench {
namespace {

constexpr double half = 0.5;
constexpr double first_guess_nanoseconds = 4'000;
// Long tasks need fewer steps for the same precision; fewer than this would be all start and end.
constexpr double longest_run_nanoseconds = 100e6;
constexpr std::int64_t fewest_steps = 100;
constexpr double longest_task_nanoseconds = 2'000'000;
constexpr double shortest_task_nanoseconds = 20;
constexpr int bisections = 4;

}  // namespace

Metg::Metg(CommandLine& line)
    : line_(line),
      steps_(line.size("steps", 1000, "most generations of one run")),
      width_(line.size("width", 8, "points of a generation")),
      tries_(line.size("tries", 5, "runs for one task length, of which the fastest counts")) {}

// All threads work at once, so that a core they share or a clock that drops under load is in the peak as well.
double Metg::nanoseconds_per_iteration() const {
  constexpr std::int64_t iterations = 3'000'000;
  const int workers = line_.workers();
  std::atomic<int> waiting{workers};
  std::vector<double> rates(static_cast<std::size_t>(workers));
  std::vector<std::thread> threads;
  for (double& rate : rates) {
    threads.emplace_back([&waiting, &rate] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      const std::int64_t start = wall_nanoseconds();
      busy_work(iterations);
      rate = static_cast<double>(iterations) / static_cast<double>(wall_nanoseconds() - start);
    });
  }
  double sum = 0;
  for (std::size_t index = 0; index < threads.size(); ++index) {
    threads[index].join();
    sum += rates[index];
  }
  return workers / sum;
}

Metg::Point Metg::measure_point(const Make& make, double task_nanoseconds, double per_iteration, Report& report) {
  const auto iterations = std::max<std::int64_t>(1, std::llround(task_nanoseconds / per_iteration));
  const double step_nanoseconds = task_nanoseconds * static_cast<double>(width_) / line_.workers();
  const auto affordable = static_cast<std::int64_t>(longest_run_nanoseconds / step_nanoseconds);
  const std::int64_t steps = std::min(steps_, std::max(fewest_steps, affordable));
  double fastest = 0;
  for (std::int64_t attempt = 0; attempt < tries_; ++attempt) {
    const Problem problem = make(steps, width_, iterations);
    const std::int64_t start = wall_nanoseconds();
    problem.run();
    const auto wall = static_cast<double>(wall_nanoseconds() - start);
    if (const std::string what = problem.check(); !what.empty()) report.wrong(what);
    fastest = attempt == 0 ? wall : std::min(fastest, wall);
  }
  const double granularity = fastest * line_.workers() / static_cast<double>(steps * width_);
  return {granularity, static_cast<double>(iterations) * per_iteration / granularity};
}

int Metg::find(const Make& make) {
  Report report(line_);
  double per_iteration = 0;
  for (int run = 0; run < line_.warmup() + line_.repeat(); ++run) {
    // The fastest seen so far is the peak, as the fastest run counts below: a disturbance can only make it slower.
    for (std::int64_t attempt = 0; attempt < tries_; ++attempt) {
      const double now = nanoseconds_per_iteration();
      per_iteration = per_iteration == 0 ? now : std::min(per_iteration, now);
    }
    const auto measure_at = [&](double length) { return measure_point(make, length, per_iteration, report); };

    double above = first_guess_nanoseconds;
    Point enough = measure_at(above);
    while (enough.efficiency < half && above < longest_task_nanoseconds) enough = measure_at(above *= 2);
    double below = above / 2;
    Point too_little = measure_at(below);
    while (too_little.efficiency >= half && below > shortest_task_nanoseconds) {
      above = below;
      enough = too_little;
      too_little = measure_at(below /= 2);
    }
    for (int step = 0; step < bisections; ++step) {
      const double middle = std::sqrt(above * below);
      const Point point = measure_at(middle);
      (point.efficiency >= half ? above : below) = middle;
      (point.efficiency >= half ? enough : too_little) = point;
    }
    if (enough.efficiency < half) report.wrong("half of the peak was not reached with any task length");
    if (run < line_.warmup()) continue;
    report.add("metg_ns", enough.granularity);
    report.add("efficiency", enough.efficiency);
    report.add("peak_ns_per_iteration", per_iteration);
  }
  return report.finish();
}

}  // namespace bench
