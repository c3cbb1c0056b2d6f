// The count of a task, and the event that follows from it.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "call.hpp"
#include "errors.hpp"
#include "hidden_runtime.hpp"
#include "libgomp.hpp"
#include "openmp_runtime.hpp"

namespace dovetail::omp {
namespace {

constexpr std::uint32_t counted = dovetail_omp_task::counted;

void wait_in_body(dovetail_omp_task& task) noexcept {
  std::uint32_t left = task.left.fetch_or(dovetail_omp_task::body_waits, std::memory_order_acq_rel);
  while (((left = task.left.load(std::memory_order_acquire)) & counted) != 1) {
    task.left.wait(left, std::memory_order_acquire);
  }
  task.left.store(1, std::memory_order_relaxed);  // no other thread has a share any more
}

}  // namespace

void stop_program(const char* function, const char* what) noexcept {
  std::fprintf(stderr, "dovetail: %s: %s\n", function, what);
  std::abort();
}

Call& add_call(dovetail_omp_task& task) {
  Call* call = nullptr;
  if (task.used < dovetail_omp_task::most_in_place) {
    call = &task.in_place[task.used++];
  } else {
    auto further = std::make_unique<dovetail_omp_task::Further>();
    further->next = std::move(task.further);
    task.further = std::move(further);
    call = &task.further->call;
  }
  call->task = &task;
  return *call;
}

void gather(dovetail_omp_task& task, Call& call) noexcept {
  task.left.fetch_add(1, std::memory_order_relaxed);
  call.next = nullptr;
  (task.first == nullptr ? task.first : task.last->next) = &call;
  task.last = &call;
}

void submit(dovetail_omp_task& task) noexcept {
  if (Call* first = task.first) {
    task.first = nullptr;
    hand_over(first, task.last);
  }
}

void release(dovetail_omp_task& task, std::uint32_t count) noexcept {
  const std::uint32_t before = task.left.fetch_sub(count, std::memory_order_acq_rel);
  if ((before & counted) < count) [[unlikely]] {
    stop_program("dovetail_omp_fulfill", "more fulfilments than were added: each may be given once");
  }
  const std::uint32_t left = before - count;
  if (left == 0) {
    const std::uintptr_t event = task.event;
    const std::uintptr_t alarm = task.alarm.load(std::memory_order_acquire);
    std::unique_ptr<dovetail_omp_task::Further> further = std::move(task.further);
    while (further != nullptr) {
      further = std::move(further->next);  // not by recursion: there may be very many
    }
    delete &task;
    fulfill(event);
    if (libgomp::is_armed(alarm)) {
      fulfill(alarm);
    }
  } else if ((left & counted) == 1) {
    // Without a flag, the body may already have destroyed the task.
    if ((left & dovetail_omp_task::body_arms) != 0) {
      libgomp::disarm_alarm(task);
    } else if ((left & dovetail_omp_task::body_waits) != 0) {
      task.left.notify_all();  // of which only the address is used: seeing the count is enough for the body to go on
    }
  }
}

}  // namespace dovetail::omp

using namespace dovetail::omp;

namespace {

// libgomp has no team there that could keep the task: it runs the body where the task is made, and waits for the event.
void tell_if_performed_at_once() noexcept {
  static std::atomic<bool> told{false};
  if (!told.load(std::memory_order_relaxed) && libgomp::in_use() && outside_of_parallel_regions() &&
      !told.exchange(true, std::memory_order_relaxed)) {
    std::fputs(
        "dovetail: a task with detach was made outside of a parallel region: libgomp waits for its I/O at once, so "
        "that nothing "
        "is overlapped; put `#pragma omp parallel` and `#pragma omp masked` around what makes the tasks\n",
        stderr);
  }
}

}  // namespace

dovetail_omp_task* dovetail_omp_begin(uintptr_t event) {
  if (!can_fulfill()) {
    stop_program(
        "dovetail_omp_begin",
        "the program has no omp_fulfill_event: compile and link it with -fopenmp, by gcc 11, clang 11 or later");
  }
  tell_if_performed_at_once();
  auto* const task = new (std::nothrow) dovetail_omp_task(event);
  if (task == nullptr) {
    stop_program("dovetail_omp_begin", "out of memory");
  }
  return task;
}

void dovetail_omp_submit(dovetail_omp_task* io) {
  if (io == nullptr) {
    stop_program("dovetail_omp_submit", "the task is null: pass what dovetail_omp_begin returned");
  }
  submit(*io);
}

void dovetail_omp_end(dovetail_omp_task* io) {
  if (io == nullptr) {
    stop_program("dovetail_omp_end", "the task is null: pass what dovetail_omp_begin returned");
  }
  submit(*io);
  // A request that has already ended needs no care: the event is then fulfilled in the body.
  if (libgomp::in_use() && (io->left.load(std::memory_order_acquire) & counted) > 1 &&
      (libgomp::detach_is_ignored_here() || !libgomp::arm_alarm(*io))) {
    wait_in_body(*io);
  }
  release(*io, 1);
}

void dovetail_omp_add(dovetail_omp_task* io, uint32_t count) {
  if (io == nullptr) {
    stop_program("dovetail_omp_add", "the task is null: pass what dovetail_omp_begin returned");
  }
  if (count > counted / 2 || (io->left.fetch_add(count, std::memory_order_relaxed) & counted) > counted / 2) {
    stop_program("dovetail_omp_add", "more events than a task can count");
  }
}

void dovetail_omp_fulfill(dovetail_omp_task* io, uint32_t count) {
  if (io == nullptr) {
    stop_program("dovetail_omp_fulfill", "the task is null: pass what dovetail_omp_begin returned");
  }
  if (count > 0) {
    release(*io, count);
  }
}

void dovetail_omp_fail(dovetail_omp_task* io, int error, const char* operation) {
  if (io == nullptr) {
    stop_program("dovetail_omp_fail", "the task is null: pass what dovetail_omp_begin returned");
  }
  if (error >= 0) {
    stop_program("dovetail_omp_fail", "the error must be a negative errno");
  }
  report(io->status, {.error = error,
                      .descriptor = -1,
                      .offset = -1,
                      .left = 0,
                      .operation = operation != nullptr ? operation : "an operation of another library",
                      .message = nullptr});
  release(*io, 1);
}

void dovetail_omp_set_status(dovetail_omp_task* io, int* status) {
  if (io == nullptr) {
    stop_program("dovetail_omp_set_status", "the task is null: pass what dovetail_omp_begin returned");
  }
  io->status = status;
  if (status != nullptr) {
    *status = 0;
  }
}
