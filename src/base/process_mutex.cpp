#include "base/process_mutex.hpp"

#include <pthread.h>

#include <thread>

namespace dovetail::base {

struct ProcessMutex::All {
  std::mutex mutex;  ///< Guards the list.
  ProcessMutex* first = nullptr;

  void unlock_until(const ProcessMutex* end) noexcept {
    for (ProcessMutex* each = first; each != end; each = each->next_) {
      each->unlock();
    }
    mutex.unlock();
  }

  // All or none, as `std::lock` does it: it never waits while it holds one, so that it does not matter in which order others nest
  // them, nor that a mutex may be made while another one is held.
  bool try_lock() {
    mutex.lock();
    for (ProcessMutex* each = first; each != nullptr; each = each->next_) {
      if (!each->try_lock()) {
        unlock_until(each);
        return false;
      }
    }
    return true;
  }
};

// Never destroyed: a thread may fork until the very end of the process.
ProcessMutex::All& ProcessMutex::all() {
  static auto* const instance = [] {
    constexpr auto release = [] { all().unlock_until(nullptr); };
    pthread_atfork(
        [] {
          while (!all().try_lock()) {
            std::this_thread::yield();
          }
        },
        release, release);
    return new All;
  }();
  return *instance;
}

ProcessMutex::ProcessMutex() {
  All& others = all();
  const std::lock_guard lock(others.mutex);
  next_ = others.first;
  if (next_ != nullptr) {
    next_->previous_ = this;
  }
  others.first = this;
}

ProcessMutex::~ProcessMutex() {
  All& others = all();
  const std::lock_guard lock(others.mutex);
  (previous_ != nullptr ? previous_->next_ : others.first) = next_;
  if (next_ != nullptr) {
    next_->previous_ = previous_;
  }
}

}  // namespace dovetail::base
