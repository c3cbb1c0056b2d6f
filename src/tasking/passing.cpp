#include "tasking/passing.hpp"

#include "tasking/core.hpp"
#include "tasking/schedule.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

void begin_passing(Task* task) noexcept { task->core->visitors.fetch_add(1, std::memory_order_seq_cst); }

void pass(Task* task) noexcept {
  RuntimeCore& core = *task->core;
  schedule(task);
  core.visitors.fetch_sub(1, std::memory_order_release);  // from here on the runtime may be gone
}

const Options& options_of(const Task* task) noexcept { return task->core->options; }
const RuntimeCore* core_of(const Task* task) noexcept { return task->core; }
const Task* root_of(const Task* task) noexcept { return task->core->root; }

}  // namespace dovetail::tasking
