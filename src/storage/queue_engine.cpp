#include "storage/queue_engine.hpp"

#include "storage/dispatcher.hpp"

namespace dovetail::storage {
namespace {

// The bytes that a transfer has brought have displaced others in the caches.
constexpr std::int32_t bytes_that_displace = 4096;

// The tasks that wait for the requests are going to run. The memory that they need is fetched for all of them side by side, not for
// one after the other.
void fetch_early(const Completion* completions, unsigned count) noexcept {
  // Of the stack that a request lies on, in cache lines before and after its beginning: the frames of the task and of its call.
  constexpr std::ptrdiff_t lines_before = 6;
  constexpr std::ptrdiff_t lines_after = 9;
  constexpr std::ptrdiff_t lines_of_task = 3;
  const auto fetch = [](const void* address, std::ptrdiff_t first, std::ptrdiff_t end) {
    for (std::ptrdiff_t line = first; line < end; ++line) {
      __builtin_prefetch(static_cast<const std::byte*>(address) + line * std::ptrdiff_t{64}, 1);
    }
  };
  for (unsigned i = 0; i < count; ++i) {
    if (completions[i].result >= bytes_that_displace) {
      fetch(completions[i].request, -lines_before, lines_after);
    }
  }
  for (unsigned i = 0; i < count; ++i) {
    if (completions[i].result >= bytes_that_displace) {
      fetch(completions[i].request->task, 0, lines_of_task);
    }
  }
}

}  // namespace

template <class Queue>
QueueEngine<Queue>::QueueEngine(Dispatcher& dispatcher, Parking& parking, unsigned workers)
    : dispatcher_(dispatcher),
      parking_(parking),
      workers_(workers),
      queues_(std::make_unique<std::atomic<Queue*>[]>(workers)) {}

template <class Queue>
QueueEngine<Queue>::~QueueEngine() {
  for (unsigned worker = 0; worker < workers_; ++worker) {
    delete queues_[worker].load(std::memory_order_relaxed);
  }
}

template <class Queue>
bool QueueEngine<Queue>::make_queue(unsigned worker) noexcept {
  if (refused_.load(std::memory_order_relaxed)) {
    return false;
  }
  std::string reason;
  std::unique_ptr<Queue> made = Queue::make(reason);
  if (made != nullptr && !parking_.add_queue(worker, made.get())) {
    made.reset();
    reason = "eventfd: no descriptor left (RLIMIT_NOFILE is too small)";
  }
  if (made == nullptr) {
    const base::LockGuard lock(mutex_);
    why_not_ = reason;
    refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  queues_[worker].store(made.release(), std::memory_order_release);
  return true;
}

template <class Queue>
std::string QueueEngine<Queue>::why_not() const {
  const base::LockGuard lock(mutex_);
  return why_not_;
}

template <class Queue>
void QueueEngine<Queue>::submit(Request& request, int worker) noexcept {
  Queue& queue = *queues_[static_cast<unsigned>(worker)].load(std::memory_order_relaxed);
  const unsigned before = queue.gathered();
  queue.submit(request);
  if (before == 0 && queue.gathered() > 0) {
    tasking::request_flush();
  }
}

template <class Queue>
void QueueEngine<Queue>::flush(unsigned worker) noexcept {
  Queue* queue = queues_[worker].load(std::memory_order_relaxed);
  if (queue != nullptr && queue->gathered() > 0) {
    queue->flush();
  }
}

template <class Queue>
void QueueEngine<Queue>::cancel(unsigned worker) noexcept {
  Queue* queue = queues_[worker].load(std::memory_order_relaxed);
  if (queue != nullptr && queue->in_flight() > 0) {
    queue->cancel();
    queue->flush();
  }
}

template <class Queue>
unsigned QueueEngine<Queue>::take(Queue& queue, unsigned worker) noexcept {
  // Taken in batches so that what is delivered may submit again without holding anything.
  constexpr unsigned most = 64;
  Completion completions[most];
  const unsigned count = queue.take(completions, most);
  fetch_early(completions, count);
  for (unsigned i = 0; i < count; ++i) {
    dispatcher_.attempt_ended(*completions[i].request, completions[i].result, static_cast<int>(worker));
  }
  return count;
}

template <class Queue>
unsigned QueueEngine<Queue>::poll(unsigned worker, tasking::PollScope scope) noexcept {
  unsigned count = 0;
  if (Queue* own = queues_[worker].load(std::memory_order_relaxed)) {
    parking_.polled(worker);
    count += take(*own, worker);
    own->refill();
    if (own->gathered() > 0) {
      tasking::request_flush();
    }
  }
  if (scope == tasking::PollScope::all) {
    for (unsigned other = 0; other < workers_; ++other) {
      if (other != worker && parking_.is_busy(other)) {
        if (Queue* queue = queues_[other].load(std::memory_order_acquire)) {
          count += take(*queue, worker);
        }
      }
    }
  }
  return count;
}

template class QueueEngine<Ring>;
template class QueueEngine<AioQueue>;

}  // namespace dovetail::storage
