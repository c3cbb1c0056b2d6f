#include "tasking/waiting_line.hpp"

#include "tasking/pause.hpp"

namespace dovetail::tasking {

void append(WaitingLine& line, Waiting& waiting) noexcept {
  waiting.before = line.last;
  waiting.next = nullptr;
  waiting.in_line = true;
  (line.last != nullptr ? line.last->next : line.first) = &waiting;
  line.last = &waiting;
}

void take_out(WaitingLine& line, Waiting& waiting) noexcept {
  if (!waiting.in_line) {
    return;
  }
  waiting.in_line = false;
  (waiting.before != nullptr ? waiting.before->next : line.first) = waiting.next;
  (waiting.next != nullptr ? waiting.next->before : line.last) = waiting.before;
}

namespace {

void block_in_line(WaitingLine& line, std::unique_lock<std::mutex>& lock, Waiting& waiting) {
  Selection selection;
  waiting.selection = &selection;
  append(line, waiting);
  lock.unlock();
  selection.block_until(base::TimePoint::max());
  lock.lock();  // the thread that serves has it until the last use of the selection
  lock.unlock();
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
  if (waiting.task == nullptr) {
    block_in_line(line, lock, waiting);
    return;
  }
  append(line, waiting);
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
  Waiting& first = *line.first;
  take_out(line, first);
  if (first.selection != nullptr ? !first.selection->claim(first.number) : !leave_line(first.task)) {
    return false;
  }
  if (first.task == nullptr) {
    first.selection->wake();  // under the mutex: it is gone as soon as the thread has that
  } else {
    first.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &first;
    last_ = &first;
  }
  return true;
}

void Served::wake() noexcept {
  for (Waiting* waiting = first_; waiting != nullptr;) {
    Waiting* const next = waiting->next;  // read first: it is gone once its task runs
    tasking::wake(waiting->task);
    waiting = next;
  }
}

}  // namespace dovetail::tasking
