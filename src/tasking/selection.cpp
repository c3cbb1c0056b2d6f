#include "tasking/selection.hpp"

#include <algorithm>

#include "tasking/waiting_thread.hpp"

namespace dovetail::tasking {

void Selection::wake() noexcept {
  if (task_ != nullptr) {
    wake_task_(task_);
    return;
  }
  look_again();
}

void Selection::look_again() noexcept {
  const base::LockGuard lock(mutex_);
  changed_.notify_one();
}

bool Selection::block_until(base::TimePoint deadline, WaitingThread* thread) {
  base::UniqueLock lock(mutex_);
  while (winner() == nothing) {
    const base::TimePoint now = base::Clock::now();
    const base::TimePoint next_look = thread != nullptr ? thread->next_look() : base::TimePoint::max();
    if (now >= deadline) {
      claim(timed_out);
    } else if (thread != nullptr && now >= next_look) {
      lock.unlock();
      if (thread->look()) {
        return false;
      }
      lock.lock();
    } else if (std::min(deadline, next_look) == base::TimePoint::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, std::min(deadline, next_look));
    }
  }
  return true;
}

void Selections::add(Selection& selection, Awaited awaited) noexcept {
  const base::LockGuard lock(mutex_);
  selection.awaited_ = awaited;
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

void Selections::for_each_wait(const VisitSelection& visit) const {
  const base::LockGuard lock(mutex_);
  for (const Selection* at = first_; at != nullptr; at = at->behind_) {
    if (at->task_ != nullptr) {
      visit(at->task_, at->text_, at->awaited_);
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

void Selections::wake_threads() noexcept {
  const base::LockGuard lock(mutex_);
  for (Selection* at = first_; at != nullptr; at = at->behind_) {
    if (at->task_ == nullptr) {
      at->look_again();
    }
  }
}

}  // namespace dovetail::tasking
