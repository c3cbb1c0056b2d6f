// One io_uring. Its owner, a compute worker, submits and sleeps in it; completions may be taken by any thread.
#pragma once

#include <liburing.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "storage/buffer_registry.hpp"
#include "storage/worker_queue.hpp"

namespace dovetail::storage {

/// What a kernel may have or not have, beyond what every ring needs.
struct RingFeatures {
  bool links = true;    ///< A write and the sync after it in one submission.
  bool cancel = true;   ///< Giving up all that is under way (Linux 5.19).
  bool buffers = true;  ///< A table of registered buffers that is filled on demand (Linux 5.19).
};

class Ring final : public WorkerQueue, public BufferUser {
 public:
  /// What `make` must not use even where the kernel has it: old kernels for tests. Set before a ring is made.
  static RingFeatures allowed;

  /// Requests gathered before they are handed over without being asked: so many that the device begins while others are still being
  /// prepared. It is more where what is handed over ends at once, since an early beginning gains nothing there.
  static constexpr unsigned batch = 16;
  static constexpr unsigned batch_that_ends_at_once = 32;

  /// Which requests it can take: all.
  static bool suits(const Request& /*request*/) noexcept { return true; }
  /// Null where the system gives none; then `why_not` says why.
  static std::unique_ptr<Ring> make(std::string& why_not);
  ~Ring() override;

  /// @name Owner only
  /// @{
  /// Gathers the planned attempt of a request. Keeps it in a queue while the ring is full.
  void submit(Request& request) noexcept;
  void sleep(int wake_descriptor, std::chrono::steady_clock::time_point deadline) noexcept override;
  /// Asks the kernel to give up all that is under way in this ring.
  void cancel() noexcept;
  /// Moves on what was kept while the ring was full.
  void refill() noexcept;
  /// @}

  /// Takes completions out, at most `most`. None while another thread is doing it, or while the owner sleeps. From any thread.
  unsigned take(Completion* completions, unsigned most) noexcept;

  /// The buffer of that slot of `BufferRegistry` is dropped. From any thread.
  void forget_buffer(unsigned slot) noexcept override;
  /// Whether completions lie in the ring. From any thread.
  bool has_completions() const noexcept;

  bool notify_by(int bell, int watch) noexcept override;
  bool notify_completions(bool on) noexcept override;

 private:
  Ring() = default;
  void submit_gathered() noexcept override REQUIRES(submitting_);
  io_uring_sqe* entry() noexcept REQUIRES(submitting_);
  void prepare(Request& request) noexcept REQUIRES(submitting_);
  void use_registered(io_uring_sqe& entry, const Attempt& attempt) noexcept;
  bool register_buffer(const BufferRegistry::Found& buffer) noexcept;
  bool linkable(const Request& request) const noexcept;
  void finish_pair(Request& request) const noexcept;
  void arm(int wake_descriptor) noexcept REQUIRES(submitting_);

  io_uring ring_{};
  RingFeatures features_;
  std::atomic<bool> cut_{false};  // The kernel once took only a part of what was handed over: see `finish_pair`.
  std::atomic<bool> cannot_cancel_{false};  // Tried, and refused.
  unsigned batch_ = batch;
  bool pairs_gathered_ GUARDED_BY(submitting_) = false;
  // Of each slot: the generation of what was offered to the kernel last, and whether it took it. Null: no table yet.
  struct Offered {
    std::uint32_t generation = 0;
    bool accepted = false;
  };
  std::unique_ptr<Offered[]> offered_;
  std::atomic<bool> has_table_{false};  // Partner of the acquire in `forget_buffer`.
  bool wake_armed_ GUARDED_BY(taking_) = false;
};

}  // namespace dovetail::storage
