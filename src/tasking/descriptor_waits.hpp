// The waits of tasks for descriptors to become ready. The reactor sleeps in `wait` and delivers.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "dovetail/detail/body.hpp"
#include "tasking/wait_visitor.hpp"

namespace dovetail::tasking {

using detail::Task;

/// One wait for one descriptor, shared by the waiter and the table.
struct DescriptorWait {
  enum class End : std::uint8_t { none, ready, timed_out, cancelled };
  int descriptor = -1;
  std::uint32_t events = 0;               ///< EPOLLIN or EPOLLOUT.
  Task* task = nullptr;                   ///< The task that waits; null if no task does.
  std::function<void()> ended = nullptr;  ///< Called when the wait ends, unless there is
  std::function<void()> ready = nullptr;  ///< what is called instead, and only if the descriptor is ready.
  End end = End::none;                    ///< Why. Written before the call.
};

class DescriptorWaits {
 public:
  DescriptorWaits() = default;
  ~DescriptorWaits();
  DescriptorWaits(const DescriptorWaits&) = delete;
  DescriptorWaits& operator=(const DescriptorWaits&) = delete;

  /// Makes what `wait` needs. Returns 0 or an errno.
  int start() noexcept;
  /// Whether that is there.
  bool ready() const noexcept { return epoll_.load(std::memory_order_acquire) >= 0; }
  /// Whether any wait has not ended: then `wait` is the place to sleep.
  bool in_use() const noexcept { return ready() && entered_.load(std::memory_order_seq_cst) > 0; }

  /// Enters a wait; it ends once. Returns 0, or the errno with which the kernel refused; then nothing was entered. EPERM says that the
  /// descriptor is always ready, as a file on a disk is. Any thread.
  int add(const std::shared_ptr<DescriptorWait>& wait);
  /// Ends the wait, if it has not ended yet. Any thread.
  void end(const std::shared_ptr<DescriptorWait>& wait, DescriptorWait::End how) noexcept;
  /// Ends the waits with `ended` of tasks that are cancelled by now, as `is_cancelled` says. Any thread.
  void end_cancelled(bool (*is_cancelled)(const Task*)) noexcept;
  /// Calls `visit` for each task that waits, with what for. The task cannot go on meanwhile.
  void for_each_wait(const VisitWait& visit);
  /// Waits that have not ended and that wake a task.
  std::size_t waiting() const noexcept { return waiting_.load(std::memory_order_relaxed); }

  /// Sleeps until `until`, until `notify`, or until something is ready, which it delivers. Returns whether it has delivered anything. It may
  /// return early.
  bool wait(base::TimePoint until);
  /// Ends the present or next `wait`.
  void notify() noexcept;

 private:
  struct Entry {
    bool known = false;  ///< The kernel has it.
    std::vector<std::shared_ptr<DescriptorWait>> waits;
  };
  int arm(int descriptor, Entry& entry) noexcept REQUIRES(mutex_);
  void deliver(int descriptor, std::uint32_t events);
  static void finish(const std::vector<std::shared_ptr<DescriptorWait>>& ended);

  void count(const DescriptorWait& wait, std::ptrdiff_t change) noexcept;
  void lose_all() noexcept;

  std::atomic<int> epoll_{-1};
  std::atomic<int> bell_{-1};  ///< Descriptor that `notify` writes to.
  base::Mutex mutex_;
  std::unordered_map<int, Entry> entries_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> entered_{0};  ///< All waits.
  std::atomic<std::size_t> waiting_{0};  ///< Those of tasks.
};

}  // namespace dovetail::tasking
