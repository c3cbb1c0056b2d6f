// How many tasks of each type there are: what progress and `dovetail top` show.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace nanobind {
class module_;
}

namespace dovetail::python {

/// How many tasks of one type there were so far in this process.
struct Counts {
  std::atomic<std::int64_t> made{0};
  std::atomic<std::int64_t> running{0};
  std::atomic<std::int64_t> completed{0};
  std::atomic<std::int64_t> failed{0};  ///< Of `completed`.
};

/// Returns the counters that all functions with this label and this kind share. `kind` says where a body runs: `compute`, `I/O`, `process`, `async` or `cluster`. The
/// counters live until the process ends. After the first 1000 types, all new types of one kind share one set of counters: a program with ever new labels would fill
/// the memory. Any thread may call it.
Counts& counts_of(const std::string& label, const std::string& kind);

/// What `Counts` were at one time. Tasks that wait are those made, but for those that run or have completed.
struct TaskType {
  std::string label;
  std::string kind;
  std::int64_t made = 0;
  std::int64_t running = 0;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
};
/// Of all types. Any thread may call it; it needs no interpreter.
std::vector<TaskType> task_types();

/// In the child of a fork: no task of the parent waits or runs here.
void forget_counts() noexcept;

void bind_counts(nanobind::module_& module);

}  // namespace dovetail::python
