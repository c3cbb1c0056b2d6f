#include "dovetail/synchronization.hpp"

#include "tasking/waiting_line.hpp"

namespace dovetail {

using tasking::Served;
using tasking::wait_in_line;
using tasking::WaitReason;

void Semaphore::acquire(std::uint64_t units) {
  std::unique_lock lock(mutex_);
  if (line_.first == nullptr && units <= available_) {
    available_ -= units;
    return;
  }
  try {
    wait_in_line(line_, lock, units, WaitReason::semaphore);
  } catch (...) {
    release(0);  // those behind may be content with less
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
  Served served;
  {
    const std::lock_guard lock(mutex_);
    available_ += units;
    while (line_.first != nullptr && line_.first->units <= available_) {
      const std::uint64_t wanted = line_.first->units;
      if (served.serve_first(line_)) {
        available_ -= wanted;
      }
    }
  }
  served.wake();
}

std::uint64_t Semaphore::available() const noexcept {
  const std::lock_guard lock(mutex_);
  return available_;
}

void Latch::count_down(std::uint64_t steps) noexcept {
  Served served;
  {
    const std::lock_guard lock(mutex_);
    count_ -= steps;
    while (count_ == 0 && line_.first != nullptr) {
      served.serve_first(line_);
    }
  }
  served.wake();
}

bool Latch::try_wait() const noexcept {
  const std::lock_guard lock(mutex_);
  return count_ == 0;
}

void Latch::wait() {
  std::unique_lock lock(mutex_);
  if (count_ != 0) {
    wait_in_line(line_, lock, 0, WaitReason::latch);
  }
}

void Barrier::arrive_and_wait() {
  std::unique_lock lock(mutex_);
  if (++arrived_ != participants_) {
    wait_in_line(line_, lock, 0, WaitReason::barrier);
    return;
  }
  pass(lock);
}

void Barrier::arrive_and_drop() noexcept {
  std::unique_lock lock(mutex_);
  --participants_;
  if (arrived_ == participants_) {
    pass(lock);
  }
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
