#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "call.hpp"
#include "libgomp.hpp"
#include "openmp_runtime.hpp"

namespace dovetail::omp::libgomp {
namespace {

// The function that compiled programs create tasks with; part of libgomp's binary interface since GCC 11 in this form.
using CreateTask = void (*)(void (*body)(void*), void* data, void (*copy)(void*, void*), long size, long alignment,
                            bool if_clause, unsigned flags, void** depend, int priority, void* detach);
constexpr unsigned with_depend = 1U << 3;
constexpr unsigned with_detach = 1U << 13;

// Values of `dovetail_omp_task::alarm` that are not an event; nor is 0, which stands for none.
constexpr std::uintptr_t being_spent = 1;
constexpr std::uintptr_t spent = 2;
constexpr std::uintptr_t spent_and_left =
    3;  ///< And the thread that took the count to one will not touch the task any more.

struct FirstTask {
  std::uintptr_t event;  ///< First, for libgomp writes it there.
  dovetail_omp_task* task;
};

// What this thread is about: the bodies below may be called in the midst of it.
enum class Making : std::uint8_t { nothing, first, second };
thread_local Making making = Making::nothing;
thread_local bool made_at_once = false;

/// Fulfils the event of the alarm unless another thread does; returns when it is fulfilled.
void spend(std::atomic<std::uintptr_t>& alarm) noexcept {
  std::uintptr_t event = alarm.load(std::memory_order_acquire);
  if (is_armed(event) && alarm.compare_exchange_strong(event, being_spent, std::memory_order_acq_rel)) {
    fulfill(event);
    alarm.store(spent, std::memory_order_release);
    alarm.notify_all();
    return;
  }
  alarm.wait(being_spent, std::memory_order_acquire);
}

void first_body(void* argument) {
  const FirstTask& first = *static_cast<const FirstTask*>(argument);
  if (making == Making::first) {
    fulfill(first.event);  // libgomp runs it at once and would now wait for the event
    made_at_once = true;
  } else if (making == Making::second) {
    spend(first.task->alarm);  // libgomp runs it to make room for the second, and ignores `detach`: the first fault
  }
}

void second_body(void* /*argument*/) {}

}  // namespace

bool is_armed(unsigned long alarm) noexcept { return alarm > spent_and_left; }

void disarm_alarm(dovetail_omp_task& task) noexcept {
  spend(task.alarm);
  task.alarm.store(spent_and_left, std::memory_order_release);
  task.alarm.notify_all();  // the body may go on and destroy the task: only the address is used
}

bool arm_alarm(dovetail_omp_task& task) noexcept {
  static const auto create = reinterpret_cast<CreateTask>(dlsym(RTLD_DEFAULT, "GOMP_task"));
  if (create == nullptr) {
    return false;
  }
  FirstTask first{0, &task};
  std::uintptr_t event = 0;
  void* const count_one = reinterpret_cast<void*>(std::uintptr_t{1});
  std::array<void*, 3> writes{count_one, count_one, &task};  // one dependence, of which one is `out`
  made_at_once = false;
  making = Making::first;
  create(first_body, &first, nullptr, sizeof first, alignof(FirstTask), true, with_depend | with_detach, writes.data(),
         0, &event);
  making = Making::nothing;
  if (made_at_once) {
    return false;
  }
  task.alarm.store(event, std::memory_order_release);
  // From here on, the thread that takes the count to one uses up the alarm: the second task may have to wait for the first.
  const auto count = [](std::uint32_t left) { return left & dovetail_omp_task::counted; };
  if (count(task.left.fetch_or(dovetail_omp_task::body_arms, std::memory_order_acq_rel)) == 1) {
    spend(task.alarm);  // all had ended before: no other thread will
    return false;
  }
  std::array<void*, 3> reads{count_one, nullptr, &task};
  making = Making::second;
  create(second_body, nullptr, nullptr, 0, 1, true, with_depend, reads.data(), 0, nullptr);
  making = Making::nothing;
  if (count(task.left.fetch_and(~dovetail_omp_task::body_arms, std::memory_order_acq_rel)) == 1) {
    // One thread has seen the flag: wait for it. It is only one, since with nothing outstanding no thread may add.
    for (std::uintptr_t alarm = 0; (alarm = task.alarm.load(std::memory_order_acquire)) != spent_and_left;) {
      task.alarm.wait(alarm, std::memory_order_acquire);
    }
  }
  return is_armed(task.alarm.load(std::memory_order_acquire));
}

}  // namespace dovetail::omp::libgomp
