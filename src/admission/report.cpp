#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "admission/budgets.hpp"
#include "dovetail/admission.hpp"

namespace dovetail {
namespace admission {
namespace {

using nlohmann::json;

json describe(const Budget& budget, const TaskType& type) {
  json registry = json::array();
  json history = json::array();
  std::uint64_t learning = type.tasks_searching;
  bool is_learning = false;
  if (type.automatic != nullptr) {
    is_learning = type.automatic->learning();
    learning = type.automatic->tasks_learning();
    for (const AutoLearner::Entry& entry : type.automatic->registry()) {
      registry.push_back({{"mb_per_second", entry.constraint}, {"at_once", entry.at_once}, {"seconds", entry.seconds}});
    }
  } else if (type.tuned()) {
    is_learning = budget.adaptive().searching();
  }
  for (const ConstraintChange& change : type.history) {
    history.push_back({{"seconds", change.seconds},
                       {"mb_per_second", change.mb_per_second},
                       {"at_once", change.at_once},
                       {"waiting", change.waiting},
                       {"tasks", change.tasks},
                       {"learning", change.learning}});
  }
  return {{"label", type.label},
          {"constraint", type.constraint.text()},
          {"device", type.device},
          {"bandwidth_mb_per_second", type.bandwidth},
          {"direction", type.direction == Direction::read ? "read" : "write"},
          {"tasks", type.tasks},
          {"failed", type.failed},
          {"running", type.inside},
          {"waiting", type.waiting},
          {"learning", is_learning},
          {"tasks_learning", learning},
          {"current_mb_per_second", budget.constraint(type)},
          {"at_once", budget.at_once(type)},
          {"registry", std::move(registry)},
          {"history", std::move(history)}};
}

json describe(DeviceBudget& device) {
  const StorageDevice description = device.first_name().description();
  json result = {{"name", description.name},
                 {"paths", description.paths},
                 {"read_mb_per_second", description.read_mb_per_second},
                 {"write_mb_per_second", description.write_mb_per_second},
                 {"shared", description.shared},
                 {"configured", description.configured},
                 {"most_at_once", description.most_at_once}};
  device.budget().inspect([&](const Budget& budget) {
    json types = json::array();
    std::set<std::string> names;
    json throughput = json::array();
    for (const auto& type : budget.types()) {
      types.push_back(describe(budget, *type));
      names.insert(type->device);
    }
    for (const Budget::Interval& interval : budget.intervals()) {
      throughput.push_back({{"seconds", interval.seconds},
                            {"mb_per_second", interval.megabytes / interval.length},
                            {"running", interval.task_seconds / interval.length}});
    }
    result.update({{"names", names},
                   {"running", budget.inside()},
                   {"waiting", budget.waiting()},
                   {"most_running", budget.most_inside()},
                   {"tasks", budget.tasks()},
                   {"bytes", budget.bytes()},
                   {"busy_seconds", budget.busy_seconds()},
                   {"throughput", std::move(throughput)},
                   {"types", std::move(types)}});
  });
  return result;
}

}  // namespace
}  // namespace admission

std::string admission_report() {
  nlohmann::json devices = nlohmann::json::array();
  admission::for_each_budget([&](admission::DeviceBudget& budget) { devices.push_back(admission::describe(budget)); });
  return nlohmann::json{{"devices", std::move(devices)}}.dump();
}

}  // namespace dovetail
