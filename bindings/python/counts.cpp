#include "counts.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <map>
#include <string>
#include <utility>

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

nb::list task_types() {
  nb::list rows;
  Types& known = types();
  const base::LockGuard lock(known.mutex);
  for (const auto& [type, counts] : known.all) {
    // In this order, so that what changes meanwhile makes no number of tasks that wait negative.
    const std::int64_t failed = counts.failed.load();
    const std::int64_t completed = counts.completed.load();
    const std::int64_t running = counts.running.load();
    rows.append(nb::make_tuple(type.first, type.second, counts.made.load(), running, completed, failed));
  }
  return rows;
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

void bind_counts(nb::module_& module) {
  module.def("task_types", &task_types,
             "Of each type of task, so far in this process: its label and kind (compute, I/O, process, async), how "
             "many were made, run at the moment, have "
             "completed, and of these have failed.");
}

}  // namespace dovetail::python
