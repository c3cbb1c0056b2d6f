// What the tasks of a runtime wait for, for reports. See docs/design/stuck.md.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
using detail::Task;

/// A report names no more of them.
inline constexpr std::size_t most_reported = 20;

struct Waits {
  std::vector<Task*> paused_for_resume;
  std::vector<Task*> paused_for_task;
  std::unordered_set<const Task*> selecting_tasks;  ///< Those in a selection of nothing but tasks.
  std::size_t waiting_for_events = 0;
  std::size_t waiting_for_operations = 0;  ///< Where nothing can run, of sources of other runtimes.
  /// For what may never come: a resume, an event, a descriptor, an operation of a source.
  std::size_t waiting_for_others = 0;
  std::vector<Task*> tasks;
  std::unordered_map<const Task*, std::string> operations;  ///< What sources say of those that wait for them.
};

/// Visits all tasks. The caller holds `LabelsHeld`, also for what is below.
Waits find_waits(RuntimeCore& core);
/// A task that waits for an operation of a source.
std::string describe(const Task* task, const std::string& operation);
/// What is known of a task even if somebody wakes it meanwhile: its label, its state, and what sources say of it.
std::string describe(const Task* task, const Waits& waits);
/// Where nothing runs, and nobody can wake any of the tasks.
std::string describe_stuck(const Task* task, const Waits& waits);
/// One line each.
std::string list_of(const Waits& waits, std::string (*describe_one)(const Task*, const Waits&));
std::string list_of(std::size_t count, const std::function<std::string(std::size_t)>& line);

}  // namespace dovetail::tasking
