#include "dovetail/synchronization.hpp"

#include "tasking/waiting.hpp"
#include "tasking/waiting_line.hpp"

namespace dovetail {

using detail::Waiting;
using tasking::append;
using tasking::require_may_wait_for;
using tasking::Served;
using tasking::take_out;
using tasking::wait_in_line;
using tasking::WaitReason;

void Semaphore::acquire(std::uint64_t units) {
  std::unique_lock lock(mutex_);
  if (line_.first == nullptr && units <= available_) {
    available_ -= units;
    return;
  }
  require_may_wait_for("a Semaphore or Mutex");
  try {
    wait_in_line(line_, lock, units, WaitReason::semaphore);
  } catch (...) {
    release(0);  // as in `leave`
    throw;
  }
}

bool Semaphore::try_acquire(std::uint64_t units) noexcept {
  const std::lock_guard lock(mutex_);
  if (line_.first != nullptr || units > available_) {
    return false;
  }
  available_ -= units;
  return true;
}

void Semaphore::release(std::uint64_t units) noexcept {
  std::unique_lock lock(mutex_);
  available_ += units;
  serve(lock);
}

void Semaphore::serve(std::unique_lock<std::mutex>& lock) noexcept {
  Served served;
  while (line_.first != nullptr && line_.first->units <= available_) {
    const std::uint64_t wanted = line_.first->units;
    if (served.serve_first(line_)) {
      available_ -= wanted;
    }
  }
  lock.unlock();
  served.wake();
}

// As `acquire`, for one of the things that a selection waits for. Returns whether it is this that has ended the selection.
bool Semaphore::enter(Waiting& waiting) noexcept {
  const std::lock_guard lock(mutex_);
  if (line_.first != nullptr || waiting.units > available_) {
    append(line_, waiting);
    return false;
  }
  if (!waiting.selection->claim(waiting.number)) {
    return false;
  }
  available_ -= waiting.units;
  return true;
}

void Semaphore::leave(Waiting& waiting) noexcept {
  std::unique_lock lock(mutex_);
  take_out(line_, waiting);
  serve(lock);  // those behind may be content with less
}

std::uint64_t Semaphore::available() const noexcept {
  const std::lock_guard lock(mutex_);
  return available_;
}

bool Latch::count_down(std::uint64_t steps) noexcept {
  Served served;
  {
    const std::lock_guard lock(mutex_);
    if (steps > count_) {
      return false;
    }
    count_ -= steps;
    while (count_ == 0 && line_.first != nullptr) {
      served.serve_first(line_);
    }
  }
  served.wake();
  return true;
}

std::uint64_t Latch::remaining() const noexcept {
  const std::lock_guard lock(mutex_);
  return count_;
}

bool Latch::try_wait() const noexcept { return remaining() == 0; }

void Latch::wait() {
  std::unique_lock lock(mutex_);
  if (count_ != 0) {
    require_may_wait_for("a Latch");
    wait_in_line(line_, lock, 0, WaitReason::latch);
  }
}

bool Latch::enter(Waiting& waiting) noexcept {
  const std::lock_guard lock(mutex_);
  if (count_ == 0) {
    return waiting.selection->claim(waiting.number);
  }
  append(line_, waiting);
  return false;
}

void Latch::leave(Waiting& waiting) noexcept {
  const std::lock_guard lock(mutex_);
  take_out(line_, waiting);
}

void Barrier::arrive_and_wait() {
  std::unique_lock lock(mutex_);
  if (arrived_ + 1 != participants_) {
    require_may_wait_for("a Barrier");
  }
  if (++arrived_ != participants_) {
    wait_in_line(line_, lock, 0, WaitReason::barrier);
    return;
  }
  pass(lock);
}

bool Barrier::arrive_and_drop() noexcept {
  std::unique_lock lock(mutex_);
  if (participants_ == 0) {
    return false;
  }
  --participants_;
  if (arrived_ == participants_) {
    pass(lock);
  }
  return true;
}

std::uint64_t Barrier::participants() const noexcept {
  const std::lock_guard lock(mutex_);
  return participants_;
}

bool Barrier::enter(Waiting& waiting) noexcept {
  std::unique_lock lock(mutex_);
  if (++arrived_ == participants_) {
    pass(lock);
    return waiting.selection->claim(waiting.number);
  }
  append(line_, waiting);
  return false;
}

void Barrier::leave(Waiting& waiting) noexcept {
  const std::lock_guard lock(mutex_);
  take_out(line_, waiting);
}

void Barrier::pass(std::unique_lock<std::mutex>& lock) noexcept {
  arrived_ = 0;
  Served served;
  while (line_.first != nullptr) {
    served.serve_first(line_);
  }
  lock.unlock();
  served.wake();
}

}  // namespace dovetail
