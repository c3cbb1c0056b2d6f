// The memory of tasks, which knows what may hang on one.
#include <cstddef>
#include <new>

#include "base/block_pool.hpp"
#include "tasking/access_observer.hpp"
#include "tasking/context.hpp"
#include "tasking/dependency_domain.hpp"
#include "tasking/exclusion.hpp"
#include "tasking/failure.hpp"
#include "tasking/gate.hpp"
#include "tasking/label.hpp"
#include "tasking/task.hpp"

namespace dovetail {
namespace tasking {
namespace {

constexpr std::size_t class_sizes[] = {192, 256, 384, 640};
constexpr std::size_t class_count = std::size(class_sizes);

// Never destroyed: threads may free tasks until the very end of the process.
base::BlockPool* const task_pools[class_count] = {
    new base::BlockPool(1, class_sizes[0], true), new base::BlockPool(2, class_sizes[1], true),
    new base::BlockPool(3, class_sizes[2], true), new base::BlockPool(4, class_sizes[3], true)};

}  // namespace

TaskExtra::TaskExtra() = default;
TaskExtra::~TaskExtra() = default;

TaskExtra& extra_of(Task* task) {
  if (task->extra == nullptr) {
    task->extra = new TaskExtra;
  }
  return *task->extra;
}

Task* make_task(RuntimeCore* core, Task* parent, const detail::BodyOperations* operations, std::size_t frame_size) {
  std::size_t size_class = 0;
  while (size_class < class_count && task_header + frame_size > class_sizes[size_class]) {
    ++size_class;
  }
  void* external = nullptr;
  if (size_class == class_count) [[unlikely]] {
    external = ::operator new(frame_size);
    size_class = 0;
  }
  auto* task = static_cast<Task*>(task_pools[size_class]->allocate());
  // Assigned one by one: a report may look at the block at any time, so that it is never constructed anew. Nothing is read: the block
  // may lie in another core's cache, and a store need not wait for it.
  task->next = nullptr;
  task->references.store(2, std::memory_order_relaxed);
  task->pause_state.store(PauseState::running, std::memory_order_relaxed);
  task->resume_state.store(ResumeState::none, std::memory_order_relaxed);
  task->size_class = static_cast<std::uint8_t>(size_class & 63);
  task->own_label = 0;
  task->deliver_stuck = 0;
  task->predecessors.store(0, std::memory_order_relaxed);
  task->blockers.store(1, std::memory_order_relaxed);
  std::atomic_ref<RuntimeCore*>(task->core).store(core, std::memory_order_relaxed);
  task->parent = parent;
  task->operations = operations;
  task->node = nullptr;
  std::atomic_ref<const Label*>(task->label).store(unnamed_label(), std::memory_order_relaxed);
  task->extra = nullptr;
  task->fiber = nullptr;
  task->waiters.store(nullptr, std::memory_order_relaxed);
  task->failure.store(nullptr, std::memory_order_relaxed);
  task->children.store(0, std::memory_order_relaxed);
  task->children_spawned = 0;
  task->priority = 0;
  task->home_worker = no_worker;
  task->cancel_epoch = parent != nullptr ? parent->cancel_epoch : 0;
  std::atomic_ref<WaitReason>(task->wait_reason).store(WaitReason::none, std::memory_order_relaxed);
  task->io = false;
  task->tied = false;
  task->children_awaited = false;
  task->starting = false;
  task->has_run = false;
  task->poisoned.store(false, std::memory_order_relaxed);
  task->cancel_requested.store(false, std::memory_order_relaxed);
  task->first_look.store(0, std::memory_order_relaxed);
  task->state.store(TaskState::created, std::memory_order_release);
  if (external != nullptr) [[unlikely]] {
    extra_of(task).external_frame = external;
  }
  return task;
}

void free_task(Task* task) noexcept {
  if (task->extra != nullptr) {
    for (Failure* failure : task->extra->child_failures) {
      failure->release();
    }
    ::operator delete(task->extra->external_frame);
    delete task->extra;
  }
  if (Failure* failure = task->failure.load(std::memory_order_acquire)) {
    failure->release();
  }
  task->state.store(TaskState::free, std::memory_order_release);
  if (task->own_label != 0) {
    free_label(task->label);
  }
  task_pools[task->size_class]->deallocate(task);
}

void for_each_task(const std::function<void(Task*)>& visit) {
  for (std::size_t size_class = 0; size_class < class_count; ++size_class) {
    task_pools[size_class]->for_each_block([&](void* block) {
      auto* task = static_cast<Task*>(block);
      if (task->state.load(std::memory_order_acquire) != TaskState::free) {
        visit(task);
      }
    });
  }
}

void retain(Task* task, std::uint32_t count) noexcept { task->references.fetch_add(count, std::memory_order_relaxed); }

void release(Task* task) noexcept {
  // The last holder need not write: no thread is left that reads the count.
  if (task->references.load(std::memory_order_acquire) != 1 &&
      task->references.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (task->operations->discard_result != nullptr) {
    task->operations->discard_result(detail::frame_of(task));
  }
  free_task(task);
}

}  // namespace tasking

namespace detail {

Task* Task::of(Events* events) noexcept {
  return reinterpret_cast<Task*>(reinterpret_cast<std::byte*>(events) - offsetof(Task, blockers));
}

void* frame_of(Task* task) noexcept {
  void* external = task->extra != nullptr ? task->extra->external_frame : nullptr;
  return external != nullptr ? external : task->block_frame();
}

void retain(Task* task) noexcept { tasking::retain(task); }
void release(Task* task) noexcept { tasking::release(task); }

}  // namespace detail
}  // namespace dovetail
