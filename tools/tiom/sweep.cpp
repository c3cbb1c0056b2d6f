#include "sweep.hpp"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/plain_file.hpp"
#include "budget.hpp"
#include "calibration.hpp"
#include "child.hpp"
#include "dovetail/failure.hpp"
#include "drawing.hpp"
#include "progress.hpp"
#include "results.hpp"
#include "summary.hpp"
#include "test_file.hpp"
#include "text.hpp"

namespace dovetail::tiom {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void interrupt(int) { interrupted = 1; }

/// A part of a budget that is kept for measuring again what seemed slower.
constexpr double share_of_confirmation = 0.1;
constexpr std::size_t failures_in_a_row = 5;

std::string number_text(double value) { return nlohmann::json(value).dump(); }

std::vector<std::string> arguments_of(const Settings& settings, const Point& point, const SavedCurve* curve,
                                      unsigned rounds) {
  std::string variants;
  for (const Variant variant : settings.variants) {
    variants += (variants.empty() ? "" : ",") + name_of(variant);
  }
  std::vector<std::string> arguments = {"--json",
                                        "--mode",
                                        name_of(point.mode),
                                        "--pattern",
                                        name_of(point.pattern),
                                        "--block",
                                        std::to_string(point.block),
                                        "--compute",
                                        number_text(point.compute_ms),
                                        "--series",
                                        std::to_string(point.series),
                                        "--operations",
                                        std::to_string(point.operations),
                                        "--variant",
                                        variants,
                                        "--rounds",
                                        std::to_string(rounds),
                                        "--size",
                                        std::to_string(settings.size),
                                        "--file",
                                        settings.file,
                                        "--workers",
                                        std::to_string(settings.workers),
                                        "--time-limit",
                                        number_text(settings.time_limit),
                                        "--seed",
                                        std::to_string(settings.seed),
                                        "--calibration",
                                        number_text(settings.iterations_per_ms),
                                        settings.direct ? "--direct" : "--buffered"};
  if (!settings.engine.empty()) {
    arguments.insert(arguments.end(), {"--engine", settings.engine});
  }
  if (settings.verify) {
    arguments.emplace_back("--verify");
  }
  if (settings.overwrite) {
    arguments.emplace_back("--overwrite");
  }
  if (curve != nullptr) {
    arguments.insert(arguments.end(), {"--curve", curve->path});
  } else {
    arguments.emplace_back("--no-model");
  }
  return arguments;
}

class Sweep {
 public:
  Sweep(ResultFolder& folder, const Curves& curves) : folder_(folder), curves_(curves) {
    for (const Point& point : folder.plan().points) {
      expected_.push_back(seconds_of(point, folder.plan().settings.rounds));
      expected_total_ += expected_.back();
    }
  }

  /// Measures what has no result yet. @returns false if it was interrupted.
  bool measure_missing() {
    std::set<std::size_t> done;
    for (const PointResult& result : folder_.results()) {
      done.insert(result.index);
      expected_total_ -= result.confirmation ? 0 : expected_[result.index];
    }
    std::size_t failures = 0;
    for (std::size_t index = 0; index < folder_.plan().points.size(); ++index) {
      if (done.contains(index)) {
        continue;
      }
      if (!measure(index, folder_.plan().settings.rounds, false)) {
        return false;
      }
      failures = folder_.results().back().error.empty() ? 0 : failures + 1;
      if (failures == failures_in_a_row) {
        throw std::runtime_error(std::to_string(failures) +
                                 " points in a row failed, the last one with: " + folder_.results().back().error);
      }
    }
    return true;
  }

  /// Measures again where a variant was slower. @returns false if it was interrupted.
  bool confirm() {
    const SweepPlan& plan = folder_.plan();
    std::set<std::size_t> slower;
    for (const PointResult& result : folder_.results()) {
      if (result.error.empty() && !result.confirmation && !slower_variants(result.data, plan.noise).empty()) {
        slower.insert(result.index);
      }
    }
    for (const PointResult& result : folder_.results()) {
      if (result.confirmation) {
        slower.erase(result.index);
      }
    }
    if (plan.confirm == 0) {
      return true;
    }
    const unsigned rounds = plan.settings.rounds * plan.confirm;
    expected_done_ = elapsed_ = expected_total_ = 0;
    for (const std::size_t index : slower) {
      expected_[index] = seconds_of(plan.points[index], rounds);
      expected_total_ += expected_[index];
    }
    for (const std::size_t index : slower) {
      if (!measure(index, rounds, true)) {
        return false;
      }
    }
    return true;
  }

 private:
  double seconds_of(const Point& point, unsigned rounds) const {
    const Settings& settings = folder_.plan().settings;
    constexpr double process = 0.05;
    return process +
           rounds * static_cast<double>(settings.variants.size()) * expected_seconds(settings, point, curves_);
  }

  bool measure(std::size_t index, unsigned rounds, bool confirmation) {
    const Settings& settings = folder_.plan().settings;
    const Point& point = folder_.plan().points[index];
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const std::string text = (confirmation ? "again: " : "") + point_text(nlohmann::json(point));
    const auto tick = [&] {
      // The forecast is scaled by how long the points so far really took.
      const double pace = expected_done_ > 0 ? elapsed_ / expected_done_ : 1;
      const double passed = std::min(seconds() / pace, expected_[index]);
      const double done = expected_done_ + passed;
      progress_.show(text, done / expected_total_, (expected_total_ - done) * pace);
      return interrupted == 0;
    };
    // Generous, so that only a child that hangs meets it.
    const double limit =
        300 + 10 * expected_[index] + 2 * settings.time_limit * rounds * static_cast<double>(settings.variants.size());
    const ChildResult child = run_child(arguments_of(settings, point, curves_.of(point), rounds), limit, tick);
    if (interrupted != 0) {
      return false;
    }
    folder_.add(result_of(index, confirmation, child));
    elapsed_ += seconds();
    expected_done_ += expected_[index];
    return true;
  }

  static PointResult result_of(std::size_t index, bool confirmation, const ChildResult& child) {
    PointResult result{index, confirmation, {}, {}};
    if (child.status == 0) {
      result.data = nlohmann::json::parse(child.output, nullptr, false);
      if (result.data.is_object()) {
        return result;
      }
      result.error = "its process printed no result";
    } else if (child.timed_out) {
      result.error = "it hung and was killed";
    } else {
      result.error =
          child.errors.empty() ? "its process ended with status " + std::to_string(child.status) : child.errors;
      while (result.error.ends_with('\n')) {
        result.error.pop_back();
      }
    }
    return result;
  }

  ResultFolder& folder_;
  const Curves& curves_;
  Progress progress_;
  std::vector<double> expected_;
  double expected_total_ = 0;
  double expected_done_ = 0;
  double elapsed_ = 0;
};

Curves measured_curves(const Command& command, const std::vector<Point>& points) {
  Curves curves;
  if (!command.model) {
    return curves;
  }
  Progress progress;
  const auto show = [&](const std::string& text, double part) { progress.show(text, part, -1); };
  bool random = false;
  bool sequential = false;
  for (const Point& point : points) {
    (is_random(point.pattern) ? random : sequential) = true;
  }
  double seconds = command.curve_time > 0 ? command.curve_time : 120;
  if (command.curve_time == 0 && command.budget > 0) {
    seconds = std::min(seconds, command.budget / 10);
  }
  const auto place = [&](const char* name, bool given) {
    return given && !command.curve.empty() ? command.curve : command.output + "/" + name;
  };
  if (random) {
    curves.random = obtain_curve(command.settings, points, false, place("curve.json", true), seconds, show);
  }
  if (sequential) {
    curves.sequential =
        obtain_curve(command.settings, points, true, place("curve-sequential.json", !random), seconds, show);
  }
  return curves;
}

Curves saved_curves(const SweepPlan& plan) {
  Curves curves;
  if (!plan.curve_random.empty()) {
    curves.random = SavedCurve{Curve::load(plan.curve_random), plan.curve_random};
  }
  if (!plan.curve_sequential.empty()) {
    curves.sequential = SavedCurve{Curve::load(plan.curve_sequential), plan.curve_sequential};
  }
  return curves;
}

ResultFolder begin_sweep(const Command& command, Curves& curves) {
  const auto begin = std::chrono::steady_clock::now();
  SweepPlan plan{command.settings, points_of(command.grid, command.operations), command.noise, command.confirm, {}, {}};
  refuse_used_folder(command.output);
  std::filesystem::create_directories(command.output);
  prepare_file(plan.settings);
  if (plan.settings.iterations_per_ms == 0) {
    plan.settings.iterations_per_ms = calibrate_and_tell(plan.settings.workers);
  }
  curves = measured_curves(command, plan.points);
  plan.curve_random = curves.random ? curves.random->path : "";
  plan.curve_sequential = curves.sequential ? curves.sequential->path : "";
  if (command.budget > 0) {
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double confirmation = command.confirm > 0 ? command.budget * share_of_confirmation : 0;
    const double seconds = std::max(command.budget - spent - confirmation, 0.0);
    const double expected = share_budget(plan.settings, curves, seconds, plan.points);
    const double each =
        expected / static_cast<double>(plan.points.size() * plan.settings.variants.size() * plan.settings.rounds);
    constexpr double telling = 0.3;
    std::cerr << "dovetail-tiom: " << plan.points.size() << " points in about " << duration_text(expected) << ", "
              << std::round(each * 100) / 100 << " s for each run"
              << (each < telling ? ": little beside the burst of a throttled device and the noise of a busy machine"
                                 : "")
              << '\n';
    if (expected > seconds * 1.05) {
      std::cerr << "dovetail-tiom: the budget of " << duration_text(command.budget) << " is too small for "
                << plan.points.size() << " points: even one round of every series takes about "
                << duration_text(expected) << ". Fewer rounds, series, blocks or compute times help.\n";
    }
  }
  return ResultFolder::create(command.output, plan);
}

void write_summary(const ResultFolder& folder, const nlohmann::json& summary) {
  const std::string path = folder.file("summary.json");
  const std::string text = summary.dump(2) + "\n";
  const base::WriteFailure failure = base::replace_plain_file(path, text);
  if (failure.error != 0) {
    throw IoError(failure.error, failure.operation, path, failure.offset, text.size() - failure.offset);
  }
}

}  // namespace

int run_sweep(const Command& command) {
  struct sigaction action = {};
  action.sa_handler = &interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  Curves curves;
  ResultFolder folder = command.resume.empty() ? begin_sweep(command, curves) : ResultFolder::open(command.resume);
  if (!command.resume.empty()) {
    curves = saved_curves(folder.plan());
  }
  bool whole = false;
  {
    Sweep sweep(folder, curves);
    whole = sweep.measure_missing() && sweep.confirm();
  }
  const nlohmann::json summary = summarise(folder, curves);
  write_summary(folder, summary);
  if (command.plots) {
    draw_maps(folder.path());
  }
  if (command.json) {
    std::cout << summary.dump(2) << '\n';
  } else {
    std::cout << summary_text(summary) << "results: " << folder.path() << '\n';
  }
  if (!whole) {
    std::cerr << "dovetail-tiom: interrupted; go on with --resume " << folder.path() << '\n';
    return 130;
  }
  return summary.at("failed").empty() ? 0 : 1;
}

}  // namespace dovetail::tiom
