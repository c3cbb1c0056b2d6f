// One context of Linux' own asynchronous I/O (libaio), for kernels without io_uring. Its owner, a compute worker, submits and
// sleeps in it; completions may be taken by any thread.
//
// Only direct transfers and syncs are asynchronous here: `io_submit` performs buffered transfers before it returns (the limit
// of the TASIO paper's implementation, section 4). `suits` says which; the others go to threads. Direct transfers are
// submitted with RWF_NOWAIT where the kernel has it. A transfer that would keep the submitting core (blocks to be allocated,
// a lock, a full device) then comes back at once. It goes to threads as well.
#pragma once

#include <libaio.h>

#include <chrono>
#include <memory>
#include <string>

#include "storage/worker_queue.hpp"

namespace dovetail::storage {

class AioQueue final : public WorkerQueue {
 public:
  /// Requests in the kernel at once.
  static constexpr unsigned entries = 1024;
  /// Requests gathered before they are handed over without being asked.
  static constexpr unsigned batch = 32;

  /// Null where the system gives none; then `why_not` says why.
  static std::unique_ptr<AioQueue> make(std::string& why_not);
  ~AioQueue() override;

  /// Whether the request is of a kind that does not block the submitting thread.
  static bool suits(const Request& request) noexcept;

  /// @name Owner only
  /// @{
  /// Gathers the planned attempt of a request that `suits`. Keeps it in a list while the context is full.
  void submit(Request& request) noexcept;
  void sleep(int wake_descriptor, std::chrono::steady_clock::time_point deadline) noexcept override;
  bool notify_by(int bell, int watch) noexcept override;
  bool notify_completions(bool on) noexcept override;
  /// Nothing: Linux cancels only polls here, never a transfer (fs/aio.c); they are waited for.
  void cancel() noexcept {}
  /// Moves on what was kept while the context was full.
  void refill() noexcept;
  /// @}

  /// Takes completions out, at most `most`. None while another thread is doing it. From any thread.
  unsigned take(Completion* completions, unsigned most) noexcept;
  /// Whether completions lie in the context. From any thread.
  bool has_completions() const noexcept;

 private:
  struct Mapped;
  AioQueue() = default;
  void prepare(Request& request) noexcept REQUIRES(submitting_);
  void submit_gathered() noexcept override REQUIRES(submitting_);
  void submit_for_owner() noexcept override REQUIRES(submitting_);
  void give_back_first(int error) noexcept REQUIRES(submitting_);
  unsigned take_given_back(Completion* completions, unsigned most) noexcept;
  bool full() const noexcept { return in_flight() >= entries; }
  unsigned take_mapped(Completion* completions, unsigned most) noexcept REQUIRES(taking_);
  unsigned take_by_call(Completion* completions, unsigned most) noexcept REQUIRES(taking_);

  io_context_t context_ = nullptr;
  Mapped* mapped_ = nullptr;  // The context as the kernel shows it to us; null where it looks unfamiliar.
  int bell_ = -1;             // Written by the kernel for each completion.
  int watch_ = -1;            // The epoll instance that watches `bell_` while completions are notified.
  iocb prepared_[batch] GUARDED_BY(submitting_);
  iocb* list_[batch] GUARDED_BY(submitting_);
  std::atomic<bool> some_left_{false};               // By calls: there may be more than what was taken last.
  RequestQueue given_back_ GUARDED_BY(submitting_);  // Never begun: taken with the completions.
  std::atomic<bool> any_given_back_{false};
};

}  // namespace dovetail::storage
