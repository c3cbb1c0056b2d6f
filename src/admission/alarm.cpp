#include "admission/alarm.hpp"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/process_mutex.hpp"

namespace dovetail::admission {
namespace {

class Alarm {
 public:
  Alarm() { std::thread(&Alarm::keep, this).detach(); }

  void add(base::TimePoint at, std::function<void()> action) {
    {
      std::lock_guard lock(mutex_);
      actions_.emplace(at, std::move(action));
    }
    changed_.notify_one();
  }

 private:
  void keep() {
    pthread_setname_np(pthread_self(), "dovetail-alarm");
    std::unique_lock lock(mutex_);
    for (;;) {
      if (actions_.empty()) {
        changed_.wait(lock);
      } else if (const base::TimePoint first = actions_.begin()->first; base::Clock::now() < first) {
        changed_.wait_until(lock, first);
      } else {
        const std::function<void()> action = std::move(actions_.extract(actions_.begin()).mapped());
        lock.unlock();
        action();
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<base::TimePoint, std::function<void()>> actions_;
};

// Never destroyed: its thread runs until the process ends. The child of a fork has no such thread, and makes another.
Alarm& alarm() {
  static auto& mutex = *new base::ProcessMutex;
  static Alarm* made = nullptr;
  static pid_t process = 0;
  const std::lock_guard lock(mutex);
  if (process != getpid()) {
    made = new Alarm;
    process = getpid();
  }
  return *made;
}

}  // namespace

bool call_later(double seconds, std::function<void()> action) noexcept {
  try {
    const auto from_now = std::chrono::duration_cast<base::Clock::duration>(std::chrono::duration<double>(seconds));
    alarm().add(base::Clock::now() + from_now, std::move(action));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace dovetail::admission
