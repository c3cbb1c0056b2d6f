#include "tasking/waiting_line.hpp"

#include "tasking/pause.hpp"

namespace dovetail::tasking {
namespace {

void append(WaitingLine& line, Waiting& waiting) noexcept {
  waiting.next = nullptr;
  (line.last != nullptr ? line.last->next : line.first) = &waiting;
  line.last = &waiting;
}

Waiting& take_first(WaitingLine& line) noexcept {
  Waiting& first = *line.first;
  line.first = first.next;
  if (line.first == nullptr) {
    line.last = nullptr;
  }
  return first;
}

void take_out(WaitingLine& line, const Waiting& waiting) noexcept {
  Waiting* before = nullptr;
  for (Waiting* at = line.first; at != nullptr; before = at, at = at->next) {
    if (at == &waiting) {
      (before != nullptr ? before->next : line.first) = at->next;
      if (line.last == at) {
        line.last = before;
      }
      return;
    }
  }
}

// A resume for the task's own `suspend` that comes meanwhile is kept.
void enter_line(Task* task) noexcept {
  ResumeState state = task->resume_state.load(std::memory_order_relaxed);
  while (!task->resume_state.compare_exchange_weak(
      state, state == ResumeState::kept ? ResumeState::in_line_and_kept : ResumeState::in_line,
      std::memory_order_acq_rel)) {
  }
}

}  // namespace

bool leave_line(Task* task) noexcept {
  ResumeState state = task->resume_state.load(std::memory_order_relaxed);
  do {
    if (state != ResumeState::in_line && state != ResumeState::in_line_and_kept) {
      return false;
    }
  } while (!task->resume_state.compare_exchange_weak(
      state, state == ResumeState::in_line ? ResumeState::none : ResumeState::kept, std::memory_order_acq_rel));
  return true;
}

void wait_in_line(WaitingLine& line, std::unique_lock<std::mutex>& lock, std::uint64_t units, WaitReason reason) {
  Waiting waiting;
  waiting.task = current_task();
  waiting.units = units;
  append(line, waiting);
  if (waiting.task == nullptr) {
    waiting.changed.wait(lock, [&] { return waiting.served; });
    lock.unlock();
    return;
  }
  prepare_pause(waiting.task);
  enter_line(waiting.task);
  lock.unlock();
  try {
    pause(waiting.task, reason);
  } catch (...) {
    lock.lock();
    take_out(line, waiting);
    lock.unlock();
    throw;
  }
}

bool Served::serve_first(WaitingLine& line) noexcept {
  Waiting& first = take_first(line);
  if (first.task == nullptr) {
    first.served = true;
    first.changed.notify_one();  // under the mutex: it is gone as soon as the thread has that
    return true;
  }
  if (!leave_line(first.task)) {
    return false;
  }
  append(tasks_, first);
  return true;
}

void Served::wake() noexcept {
  for (Waiting* waiting = tasks_.first; waiting != nullptr;) {
    Waiting* const next = waiting->next;  // read first: it is gone once its task runs
    tasking::wake(waiting->task);
    waiting = next;
  }
}

}  // namespace dovetail::tasking
