#include "counts.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

constexpr std::size_t most_types = 1000;
constexpr const char* other_types = "(others)";

struct Types {
  base::Mutex mutex;
  std::map<std::pair<std::string, std::string>, Counts> all GUARDED_BY(mutex);
};

Types& types() {
  static auto* const types = new Types;  // tasks may end after static objects are gone
  return *types;
}

}  // namespace

Counts& counts_of(const std::string& label, const std::string& kind) {
  Types& known = types();
  const base::LockGuard lock(known.mutex);
  const auto found = known.all.find({label, kind});
  if (found != known.all.end()) {
    return found->second;
  }
  return known.all[{known.all.size() < most_types ? label : other_types, kind}];
}

std::vector<TaskType> task_types() {
  std::vector<TaskType> rows;
  Types& known = types();
  const base::LockGuard lock(known.mutex);
  for (const auto& [type, numbers] : known.all) {
    TaskType row{.label = type.first, .kind = type.second};
    // In this order, against the one in which a task moves on: at worst it counts as one that waits.
    row.failed = numbers.failed.load();
    row.completed = numbers.completed.load();
    row.running = numbers.running.load();
    row.made = numbers.made.load();
    rows.push_back(std::move(row));
  }
  return rows;
}

void forget_counts() noexcept NO_THREAD_SAFETY_ANALYSIS {
  for (auto& [type, numbers] : types().all) {
    numbers.running = 0;
    numbers.made = numbers.completed.load();
  }
}

void bind_counts(nb::module_& module) {
  module.def(
      "task_types",
      [] {
        // Making objects may collect garbage, whose finalizers may make tasks: not under the lock.
        nb::list all;
        for (const TaskType& row : task_types()) {
          all.append(nb::make_tuple(row.label, row.kind, row.made, row.running, row.completed, row.failed));
        }
        return all;
      },
      "Of each type of task, so far in this process: its label and kind (compute, I/O, process, async, cluster), how "
      "many were "
      "made, run at the moment, have completed, and of these have failed.");
}

}  // namespace dovetail::python
