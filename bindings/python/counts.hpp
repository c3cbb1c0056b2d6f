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

/// Of all functions with that label and kind (who runs the body: `compute`, `I/O`, `process`, `async`, `cluster`). It stays until the process ends. A program may
/// invent labels without end: beyond a thousand types, further ones share one for each kind. Any thread may call it.
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
