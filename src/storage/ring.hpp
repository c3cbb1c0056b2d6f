// One io_uring. Its owner, a compute worker, submits and sleeps in it; completions may be taken by any thread.
#pragma once

#include <liburing.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/spin_lock.hpp"
#include "storage/request.hpp"

namespace dovetail::storage {

/// The end of one attempt.
struct RingCompletion {
  Request* request;
  std::int32_t result;
};

class Ring {
 public:
  static constexpr unsigned submission_entries = 256;
  static constexpr unsigned completion_entries = 4096;
  /// Requests gathered before they are handed over without being asked.
  static constexpr unsigned batch = 32;

  /// Null where the system gives none; then `why_not` says why.
  static std::unique_ptr<Ring> make(std::string& why_not);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// @name Owner only
  /// @{
  /// Gathers the planned attempt of a request. Keeps it in a queue while the ring is full.
  void submit(Request& request) noexcept;
  /// Hands over what was gathered.
  void flush() noexcept;
  unsigned gathered() const noexcept { return gathered_; }
  /// Sleeps until there is a completion, `wake_descriptor` (an eventfd) or `watch_descriptor` (one more, or -1) was
  /// written, or the deadline has passed. Hands over what was gathered, in the same system call.
  void sleep(int wake_descriptor, int watch_descriptor, std::chrono::steady_clock::time_point deadline) noexcept;
  /// Moves on what was kept while the ring was full.
  void refill() noexcept;
  /// @}

  /// Said around each sleep, before anybody can know of it: others leave the completions to the owner meanwhile, which is woken
  /// by them.
  void owner_sleeps(bool sleeps) noexcept { owner_sleeps_.store(sleeps, std::memory_order_seq_cst); }

  /// Takes completions out, at most `most`. None while another thread is doing it. `owner` may also ask the kernel for those
  /// that did not fit.
  unsigned take(RingCompletion* completions, unsigned most, bool owner) noexcept;

  /// Attempts that were submitted and whose completion was not taken.
  std::uint64_t in_flight() const noexcept {
    // Taken first: what is submitted in between then counts too many, never too few.
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);
    return submitted_.load(std::memory_order_acquire) - taken;
  }
  /// Whether completions lie in the ring. From any thread.
  bool has_completions() const noexcept;

  /// Has an eventfd written for each completion while `announce(true)`. From any thread.
  bool register_announcement(int descriptor) noexcept;
  void announce(bool on) noexcept;

 private:
  Ring() = default;
  io_uring_sqe* entry() noexcept;
  void prepare(Request& request) noexcept;
  void arm(bool& armed, int descriptor, std::uint64_t tag) noexcept;

  io_uring ring_{};
  unsigned gathered_ = 0;
  RequestQueue kept_;
  std::atomic<std::uint64_t> submitted_{0};  // Written by the owner; partner of the acquire in `in_flight` and `take`.
  alignas(64) base::SpinLock taking_;
  std::atomic<std::uint64_t> taken_{0};  // Written under `taking_`.
  std::atomic<bool> owner_sleeps_{false};
  bool wake_armed_ = false;  // Written by the owner, and under `taking_` when the poll has ended.
  bool watch_armed_ = false;
};

}  // namespace dovetail::storage
