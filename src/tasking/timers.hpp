// Things to do at a time, earliest first. The reactor keeps the time; workers that look for work do what is due on their way.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.hpp"
#include "base/mutex.hpp"

namespace dovetail::tasking {

class Timers {
 public:
  /// Names one thing to do. The second part tells those of one time apart.
  using Id = std::pair<base::TimePoint, std::uint64_t>;
  struct Added {
    Id id;
    bool earliest;  ///< Nothing is due before it.
  };

  /// Calls `action` outside of any task at `deadline`.
  Added call_at(base::TimePoint deadline, std::function<void()> action);
  /// Takes it back. False: it is done, or is being done.
  bool cancel(const Id& id) noexcept;

  /// Does what is due. Returns how many things that were. Any thread of the runtime.
  unsigned run_due();
  /// time_point::max() when there is none.
  base::TimePoint earliest() const noexcept {
    return base::TimePoint(base::Clock::duration(earliest_.load(std::memory_order_relaxed)));
  }
  bool empty() const noexcept { return earliest() == base::TimePoint::max(); }

 private:
  void note_earliest() noexcept REQUIRES(mutex_);

  base::Mutex mutex_;
  std::map<Id, std::function<void()>> entries_ GUARDED_BY(mutex_);
  std::uint64_t sequence_ GUARDED_BY(mutex_) = 0;
  std::atomic<base::Clock::rep> earliest_{base::TimePoint::max().time_since_epoch().count()};
};

}  // namespace dovetail::tasking
