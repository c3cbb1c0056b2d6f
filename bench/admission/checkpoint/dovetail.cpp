// A compute task and an I/O task for each checkpoint, under each kind of constraint.
#include <cstdlib>
#include <dovetail/dovetail.hpp>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.hpp"

int main(int count, char** arguments) {
  bench::CommandLine line("checkpoint", "dovetail");
  const bench::checkpoint::Sizes sizes(line);
  const std::string& way = line.choice("way", {"adaptive", "none", "fixed", "auto", "bounded"},
                                       "storage bandwidth constraint of the I/O task");
  const std::int64_t& at_once = line.size("at-once", 4, "tasks that a fixed constraint lets run");
  const std::int64_t& executors =
      line.size("executors", 0, "I/O executors, 0: as many as there are unless somebody says");
  const std::int64_t& minimum = line.size("minimum", 50, "MB/s where `bounded` starts");
  const std::int64_t& near_from =
      line.size("near-from", 3, "least at once that `fixed` needs to be within 10 % of its best total time");
  const std::int64_t& near_to = line.size("near-to", 5, "most at once with which it is");
  line.parse(count, arguments);
  bench::Report report(line);
  const bench::checkpoint::CongestedDevice device(sizes);
  bench::checkpoint::Checkpoint problem(line, sizes, device);
  // Nothing is known from earlier runs, and nothing is left for later ones.
  setenv("XDG_STATE_HOME", (device.configuration() + ".state").c_str(), 1);

  const auto peak = static_cast<double>(sizes.peak);
  dovetail::StorageBandwidth constraint;
  if (way == "fixed") {
    constraint = peak / static_cast<double>(at_once);
  } else if (way == "bounded") {
    constraint = dovetail::StorageBandwidth::automatic(static_cast<double>(minimum), peak, 2);
  } else {
    constraint = dovetail::StorageBandwidth::parse(way);
  }
  problem.measure(report, [&] {
    dovetail::Runtime runtime({.workers = static_cast<unsigned>(line.workers()),
                               .io_executors = static_cast<unsigned>(executors),
                               .config = device.configuration()});
    std::vector<char> blocks(static_cast<std::size_t>(problem.tasks()));
    for (std::int64_t task = 0; task < problem.tasks(); ++task) {
      const char& block = blocks[static_cast<std::size_t>(task)];
      runtime.spawn({.label = "compute", .access = {dovetail::out(block)}}, [&] { problem.compute(); });
      runtime.spawn({.label = "checkpoint",
                     .access = {dovetail::in(block)},
                     .io = true,
                     .storage_bw = constraint,
                     .device = "congested"},
                    [&problem, task] { problem.write(task); });
    }
    runtime.wait();
  });
  const auto is_near = [&](const nlohmann::json& change) {
    const auto level = change.at("at_once").get<std::int64_t>();
    return level >= near_from && level <= near_to;
  };
  const nlohmann::json admission = nlohmann::json::parse(dovetail::admission_report());
  for (const auto& known : admission.at("devices")) {
    for (const auto& type : known.at("types")) {
      report.add("tasks_learning", type.at("tasks_learning").get<double>());
      report.add("at_once_in_the_end", type.at("at_once").get<double>());
      // Tasks that had ended when the last level was left that is not near: all of them if the run ends with one.
      const nlohmann::json& history = type.at("history");
      double until_near = 0;
      for (std::size_t change = 0; change < history.size(); ++change) {
        if (!is_near(history[change])) {
          until_near = (change + 1 < history.size() ? history[change + 1] : type).at("tasks").get<double>();
        }
      }
      report.add("tasks_until_within_10_percent", until_near);
    }
  }
  return report.finish();
}
