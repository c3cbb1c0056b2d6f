#include "base/process_mutex.hpp"

#include <pthread.h>

#include <atomic>
#include <thread>

namespace dovetail::base {
namespace {

// Threads that are about to fork. A thread without a mutex waits for them; otherwise they might never find all free. A thread that
// holds one goes on, since they wait for it.
constinit std::atomic<int> forking{0};
thread_local constinit int held = 0;

}  // namespace

// Of the mutex that it consists of the check need not know.
void ProcessMutex::lock() NO_THREAD_SAFETY_ANALYSIS {
  while (held == 0 && forking.load(std::memory_order_relaxed) != 0) {
    std::this_thread::yield();
  }
  mutex_.lock();
  ++held;
}

bool ProcessMutex::try_lock() noexcept NO_THREAD_SAFETY_ANALYSIS {
  const bool locked = mutex_.try_lock();
  held += locked ? 1 : 0;
  return locked;
}

void ProcessMutex::unlock() noexcept NO_THREAD_SAFETY_ANALYSIS {
  --held;
  mutex_.unlock();
}

struct ProcessMutex::All {
  Mutex mutex;  ///< Guards the list, and the links of its members.
  ProcessMutex* first GUARDED_BY(mutex) = nullptr;

  // How many locks these two take and give back is known at run time only.
  void unlock_until(const ProcessMutex* end) noexcept NO_THREAD_SAFETY_ANALYSIS {
    for (ProcessMutex* each = first; each != end; each = each->next_) {
      each->mutex_.unlock();
    }
    mutex.unlock();
  }

  // All or none, as `std::lock` does it: it never waits while it holds one. So it does not matter in which order others nest them, nor
  // that a mutex may be made while another one is held.
  bool try_lock() NO_THREAD_SAFETY_ANALYSIS {
    mutex.lock();
    for (ProcessMutex* each = first; each != nullptr; each = each->next_) {
      if (!each->mutex_.try_lock()) {
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
    constexpr auto release = [] {
      all().unlock_until(nullptr);
      forking.fetch_sub(1, std::memory_order_relaxed);
    };
    // In the child others that were about to fork are not there.
    constexpr auto release_in_child = [] {
      all().unlock_until(nullptr);
      forking.store(0, std::memory_order_relaxed);
    };
    pthread_atfork(
        [] {
          forking.fetch_add(1, std::memory_order_relaxed);
          while (!all().try_lock()) {
            std::this_thread::yield();
          }
        },
        release, release_in_child);
    return new All;
  }();
  return *instance;
}

ProcessMutex::ProcessMutex() {
  All& others = all();
  const LockGuard lock(others.mutex);
  next_ = others.first;
  if (next_ != nullptr) {
    next_->previous_ = this;
  }
  others.first = this;
}

ProcessMutex::~ProcessMutex() {
  All& others = all();
  const LockGuard lock(others.mutex);
  (previous_ != nullptr ? previous_->next_ : others.first) = next_;
  if (next_ != nullptr) {
    next_->previous_ = previous_;
  }
}

}  // namespace dovetail::base
