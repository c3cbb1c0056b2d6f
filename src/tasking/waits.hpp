// What the tasks of a runtime wait for, for reports. See docs/design/stuck.md.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dovetail/detail/body.hpp"
#include "tasking/selection.hpp"

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

/// Calls `visit` for each task of which a selection, a descriptor or a source says what it waits for. A selection comes first: its text names
/// all that its task waits for. Returns whether all sources could be asked.
bool for_each_wait(RuntimeCore& core, const VisitSelection& visit);
/// Visits all tasks. The caller holds `LabelsHeld`, also for what is below.
Waits find_waits(RuntimeCore& core);
/// A task that waits for an operation of a source.
std::string describe(const Task* task, const std::string& operation);
/// What a report may say of a task that another thread may wake meanwhile: its label, its state, and the text of its source.
std::string describe(const Task* task, const Waits& waits);
/// Of a task in a runtime that is stuck: no thread wakes it meanwhile, so that all of its state may be read.
std::string describe_stuck(const Task* task, const Waits& waits);
/// One line each.
std::string list_of(const Waits& waits, std::string (*describe_one)(const Task*, const Waits&));
std::string list_of(std::size_t count, const std::function<std::string(std::size_t)>& line);

}  // namespace dovetail::tasking
