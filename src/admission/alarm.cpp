#include "admission/alarm.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.hpp"

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
constinit std::atomic<Alarm*> the_alarm{nullptr};
constinit std::atomic<std::mutex*> making{nullptr};

Alarm& alarm() {
  static const int registered = [] {
    making.store(new std::mutex);
    return pthread_atfork(nullptr, nullptr, [] {
      the_alarm.store(nullptr);
      making.store(new std::mutex);  // the other may be locked for ever
    });
  }();
  static_cast<void>(registered);
  std::lock_guard lock(*making.load());
  if (the_alarm.load() == nullptr) {
    the_alarm.store(new Alarm);
  }
  return *the_alarm.load();
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
