// The engines that have a queue in the kernel for each compute worker, made when the worker first needs it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/mutex.hpp"
#include "storage/aio_queue.hpp"
#include "storage/engine.hpp"
#include "storage/parking.hpp"
#include "storage/ring.hpp"

namespace dovetail::storage {

class Dispatcher;

/// `Queue` is `Ring` or `AioQueue`.
template <class Queue>
class QueueEngine final : public Engine {
 public:
  QueueEngine(Dispatcher& dispatcher, Parking& parking, unsigned workers);
  ~QueueEngine() override;

  /// Makes the queue of the calling worker if there is none. False where the system gives none; `why_not` then says why.
  bool prepare(const Request& request, unsigned worker) noexcept override {
    return Queue::suits(request) && (queues_[worker].load(std::memory_order_relaxed) != nullptr || make_queue(worker));
  }
  std::string why_not() const;
  /// Whether the queue of that worker holds anything. Owner only.
  bool has_in_flight(unsigned worker) const noexcept {
    const Queue* const queue = queues_[worker].load(std::memory_order_relaxed);
    return queue != nullptr && queue->holds_any();
  }

  void submit(Request& request, int worker) noexcept override;
  void flush(unsigned worker) noexcept override;
  void cancel(unsigned worker) noexcept override;
  unsigned poll(unsigned worker, tasking::PollScope scope) noexcept override;

 private:
  bool make_queue(unsigned worker) noexcept;
  unsigned take(Queue& queue, unsigned worker) noexcept;

  Dispatcher& dispatcher_;
  Parking& parking_;
  const unsigned workers_;
  std::unique_ptr<std::atomic<Queue*>[]> queues_;  // Each written by its worker, once.
  std::atomic<bool> refused_{false};
  mutable base::Mutex mutex_;
  std::string why_not_ GUARDED_BY(mutex_);
};

extern template class QueueEngine<Ring>;
extern template class QueueEngine<AioQueue>;

}  // namespace dovetail::storage
