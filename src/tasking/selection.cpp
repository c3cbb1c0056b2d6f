#include "tasking/selection.hpp"

#include <algorithm>

#include "tasking/interrupt_look.hpp"

namespace dovetail::tasking {

void Selection::wake() noexcept {
  if (task_ != nullptr) {
    wake_task_(task_);
    return;
  }
  const base::LockGuard lock(mutex_);
  changed_.notify_one();
}

bool Selection::block_until(base::TimePoint deadline, bool (*look)()) {
  base::UniqueLock lock(mutex_);
  for (;;) {
    const base::TimePoint next =
        look == nullptr ? deadline : std::min(deadline, base::Clock::now() + between_interrupt_looks);
    while (winner() == nothing && base::Clock::now() < next) {
      if (next == base::TimePoint::max()) {
        changed_.wait(lock);
      } else {
        changed_.wait_until(lock, next);
      }
    }
    if (winner() != nothing) {
      return true;
    }
    if (base::Clock::now() >= deadline) {
      claim(timed_out);
      return true;
    }
    lock.unlock();
    if (look != nullptr && look()) {
      return false;
    }
    lock.lock();
  }
}

void Selections::add(Selection& selection, bool only_tasks) noexcept {
  const base::LockGuard lock(mutex_);
  selection.only_tasks_ = only_tasks;
  selection.behind_ = first_;
  if (first_ != nullptr) {
    first_->before_ = &selection;
  }
  first_ = &selection;
}

void Selections::remove(Selection& selection) noexcept {
  const base::LockGuard lock(mutex_);
  (selection.before_ != nullptr ? selection.before_->behind_ : first_) = selection.behind_;
  if (selection.behind_ != nullptr) {
    selection.behind_->before_ = selection.before_;
  }
}

void Selections::for_each_wait(
    const std::function<void(const Task*, const std::string&, bool only_tasks)>& visit) const {
  const base::LockGuard lock(mutex_);
  for (const Selection* at = first_; at != nullptr; at = at->behind_) {
    if (at->task_ != nullptr) {
      visit(at->task_, at->text_(), at->only_tasks_);
    }
  }
}

bool Selections::give_up(const Task* task) noexcept {
  const base::LockGuard lock(mutex_);
  for (Selection* at = first_; at != nullptr; at = at->behind_) {
    if (at->task_ == task) {
      return at->claim(Selection::stuck);
    }
  }
  return false;
}

void Selections::give_up_threads() noexcept {
  const base::LockGuard lock(mutex_);
  for (Selection* at = first_; at != nullptr; at = at->behind_) {
    if (at->task_ == nullptr) {
      at->end(Selection::stuck);
    }
  }
}

}  // namespace dovetail::tasking
