#include "point.hpp"

#include <sched.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "model.hpp"
#include "other_programs.hpp"
#include "statistics.hpp"
#include "test_file.hpp"

namespace dovetail::tiom {
namespace {

using Runs = std::map<Variant, std::vector<RunResult>>;

double rate_of(const RunResult& run) { return static_cast<double>(run.operations) / run.seconds; }

template <class Figure>
std::vector<double> each(const std::vector<RunResult>& runs, Figure figure) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunResult& run : runs) {
    values.push_back(figure(run));
  }
  return values;
}

/// The ratios of the rates of two variants, round by round.
std::vector<double> ratios_of(const Runs& all, Variant variant, Variant base) {
  const std::vector<RunResult>& runs = all.at(variant);
  const std::vector<RunResult>& base_runs = all.at(base);
  std::vector<double> ratios;
  for (std::size_t round = 0; round < std::min(runs.size(), base_runs.size()); ++round) {
    ratios.push_back(rate_of(runs[round]) / rate_of(base_runs[round]));
  }
  return ratios;
}

/// The faster one of the plain variants that were measured.
std::optional<Variant> baseline_of(const Runs& all) {
  std::optional<Variant> best;
  for (const auto& [variant, runs] : all) {
    if (is_plain(variant) && (!best || median(each(runs, &rate_of)) > median(each(all.at(*best), &rate_of)))) {
      best = variant;
    }
  }
  return best;
}

nlohmann::json figures_of(Variant variant, const Runs& all, const Settings& settings, const Point& point,
                          const std::optional<DeviceSpeed>& speed) {
  const std::vector<RunResult>& runs = all.at(variant);
  const auto block = static_cast<double>(point.block);
  nlohmann::json figures = {
      {"seconds", median(each(runs, [](const RunResult& run) { return run.seconds; }))},
      {"operations_per_second", median(each(runs, &rate_of))},
      {"mib_per_second", median(each(runs, &rate_of)) * block / (1 << 20)},
      {"cpu_seconds", median(each(runs, [](const RunResult& run) { return run.cpu_seconds; }))},
      {"spread", spread(each(runs, &rate_of))},
      {"complete", std::all_of(runs.begin(), runs.end(), [](const RunResult& run) { return run.complete; })}};
  if (all.contains(Variant::standalone) && variant != Variant::standalone) {
    const std::vector<double> ratios = ratios_of(all, variant, Variant::standalone);
    figures["speedup"] = median(ratios);
    figures["speedup_spread"] = spread(ratios);
  }
  if (const std::optional<Variant> baseline = baseline_of(all); baseline && !is_plain(variant)) {
    figures["over_baseline"] = median(ratios_of(all, variant, *baseline));
  }
  if (speed) {
    const unsigned cores = cores_for(settings.workers);
    const auto bound = [&](const RunResult& run) {
      return bound_of(point, {run.operations, run.computations}, cores, *speed);
    };
    figures["efficiency"] = median(each(runs, [&](const RunResult& run) { return bound(run).seconds / run.seconds; }));
    figures["efficiency_plain"] =
        median(each(runs, [&](const RunResult& run) { return bound(run).plain / run.seconds; }));
  }
  return figures;
}

nlohmann::json model_of(const Settings& settings, const Point& point, const Plan& plan, const DeviceSpeed& speed) {
  const std::uint64_t computations =
      point.mode == Mode::fjio ? plan.rounds() : plan.operations() * computations_per_round(point.mode);
  const Bound bound = bound_of(point, {plan.operations(), computations}, cores_for(settings.workers), speed);
  return {{"seconds", bound.seconds},
          {"plain_seconds", bound.plain},
          {"limit", bound.limit},
          {"depth", bound.depth},
          {"cores", cores_for(settings.workers)}};
}

void add_run(nlohmann::json& runs, Variant variant, unsigned round, const RunResult& run) {
  runs.push_back({{"variant", name_of(variant)},
                  {"round", round},
                  {"seconds", run.seconds},
                  {"operations", run.operations},
                  {"computations", run.computations},
                  {"cpu_seconds", run.cpu_seconds},
                  {"complete", run.complete}});
}

}  // namespace

unsigned cores_for(unsigned workers) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int count = sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  return std::clamp(workers, 1U, static_cast<unsigned>(std::max(count, 1)));
}

nlohmann::json measure_point(const Settings& settings, const Point& asked, const std::optional<device::Curve>& curve,
                             const std::function<void()>& ran) {
  Point point = asked;
  const Plan plan(point, settings.size, settings.seed);
  point.operations = plan.operations();
  prepare_file(settings);

  const OtherPrograms others;
  Runs all;
  nlohmann::json runs = nlohmann::json::array();
  for (unsigned round = 0; round < settings.rounds; ++round) {
    for (const Variant variant : settings.variants) {
      if (settings.verify) {
        prepare_file(settings);
      }
      const RunResult run = run_once(settings, point, plan, variant);
      if (run.operations == 0) {
        throw std::runtime_error("the time limit of " + std::to_string(settings.time_limit) +
                                 " s was over before the first transfer: raise --time-limit");
      }
      if (run.wrong_blocks > 0) {
        throw std::runtime_error(std::to_string(run.wrong_blocks) + " blocks of '" + settings.file +
                                 "' are not as the " + name_of(variant) + " variant should have left or found them");
      }
      all[variant].push_back(run);
      add_run(runs, variant, round, run);
      if (ran) {
        ran();
      }
    }
  }

  std::optional<DeviceSpeed> speed;
  if (curve && curve->has(reads(point.pattern) ? device::Direction::read : device::Direction::write)) {
    speed = speed_of(*curve, point);
  }
  nlohmann::json variants = nlohmann::json::object();
  for (const Variant variant : settings.variants) {
    variants[name_of(variant)] = figures_of(variant, all, settings, point, speed);
  }
  const auto blocking = variants.find("blocking");
  if (blocking != variants.end() && all.contains(Variant::nonblocking)) {
    (*blocking)["to_nonblocking"] = median(ratios_of(all, Variant::blocking, Variant::nonblocking));
  }
  nlohmann::json result = {
      {"format", "dovetail-tiom-point-2"}, {"point", point}, {"variants", variants}, {"runs", runs}};
  if (const std::optional<Variant> baseline = baseline_of(all)) {
    result["baseline"] = name_of(*baseline);
  }
  result["others_share"] = others.share();
  if (speed) {
    result["model"] = model_of(settings, point, plan, *speed);
  }
  return result;
}

}  // namespace dovetail::tiom
