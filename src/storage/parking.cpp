#include "storage/parking.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/descriptor.hpp"
#include "storage/uninterposed.hpp"
#include "storage/worker_queue.hpp"
#include "tasking/futex.hpp"

namespace dovetail::storage {
namespace {

using std::chrono::steady_clock;

void ring_bell(int descriptor) noexcept {
  const Uninterposed own;
  const std::uint64_t one = 1;
  if (write(descriptor, &one, sizeof one) < 0 && errno == EBADF) {
    base::end_since_closed("what wakes a worker (an eventfd)");
  }
}

void close_if_open(int descriptor) noexcept {
  if (descriptor >= 0) {
    close(descriptor);
  }
}

}  // namespace

Parking::Parking(unsigned workers) : workers_(workers), slots_(std::make_unique<Slot[]>(workers)) {}

Parking::~Parking() {
  for (unsigned worker = 0; worker < workers_; ++worker) {
    close_if_open(slots_[worker].wake_descriptor);
  }
  close_if_open(bell_.load());
  close_if_open(watch_.load());
}

// Two workers may make their first queues at the same time.
bool Parking::make_watch() noexcept {
  const base::LockGuard lock(making_watch_);
  if (descriptor() >= 0) {
    return true;
  }
  const int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int watch = epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each write is reported once, so that no thread has to read
  if (bell >= 0 && watch >= 0 && epoll_ctl(watch, EPOLL_CTL_ADD, bell, &event) == 0) {
    bell_.store(bell, std::memory_order_relaxed);  // known to a thread that knows of the other
    watch_.store(watch, std::memory_order_release);
    return true;
  }
  close_if_open(bell);
  close_if_open(watch);
  return false;
}

bool Parking::add_queue(unsigned worker, WorkerQueue* queue) noexcept {
  Slot& slot = slots_[worker];
  if (slot.wake_descriptor < 0) {
    slot.wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  if (slot.wake_descriptor < 0 || !make_watch() || !queue->notify_by(bell_.load(), descriptor())) {
    return false;
  }
  slot.queue.store(queue, std::memory_order_release);
  return true;
}

void Parking::park(unsigned worker, TimePoint deadline) noexcept {
  Slot& slot = slots_[worker];
  WorkerQueue* const queue = slot.queue.load(std::memory_order_relaxed);
  const bool own = queue != nullptr && queue->holds_any();
  if (own) {
    queue->owner_sleeps(true);  // before the state says so: see `Ring::take`
  }
  std::uint32_t expected = awake;
  if (slot.state.compare_exchange_strong(expected, own ? asleep_in_queue : asleep_on_word, std::memory_order_seq_cst)) {
    if (own) {
      queue->sleep(slot.wake_descriptor, deadline);
    } else {
      sleep_on_word(slot, deadline);
    }
  }
  slot.state.store(awake, std::memory_order_seq_cst);
  if (own) {
    queue->owner_sleeps(false);
  }
  polled(worker);
}

void Parking::sleep_on_word(Slot& slot, TimePoint deadline) noexcept {
  while (slot.state.load(std::memory_order_acquire) == asleep_on_word && steady_clock::now() < deadline) {
    tasking::futex_wait(slot.state, asleep_on_word, deadline);
  }
}

void Parking::unpark(unsigned worker) noexcept {
  Slot& slot = slots_[worker];
  const std::uint32_t was = slot.state.exchange(notified, std::memory_order_seq_cst);
  if (was == asleep_on_word) {
    tasking::futex_wake(slot.state);
  } else if (was == asleep_in_queue) {
    ring_bell(slot.wake_descriptor);
  }
}

// The owner and the thread that keeps time may meet here. The one that writes last has seen afterwards that it wrote what
// holds.
void Parking::follow_busy(const Slot& slot, WorkerQueue& queue) const noexcept {
  bool said = false;
  do {
    said = slot.busy.load(std::memory_order_seq_cst);
    // Completions that came before this are notified here, those that come after it by the kernel.
    if (queue.notify_completions(said) && said) {
      ring_bell(bell_.load(std::memory_order_relaxed));
    }
  } while (slot.busy.load(std::memory_order_seq_cst) != said);
}

void Parking::busy(unsigned worker, bool busy) noexcept {
  Slot& slot = slots_[worker];
  WorkerQueue* const queue = slot.queue.load(std::memory_order_relaxed);
  if (queue != nullptr && (busy ? workers_ > 1 : slot.busy.load(std::memory_order_relaxed))) {
    slot.busy.store(busy, std::memory_order_seq_cst);
    follow_busy(slot, *queue);
  }
}

bool Parking::is_busy(unsigned worker) const noexcept { return slots_[worker].busy.load(std::memory_order_acquire); }

void Parking::polled(unsigned worker) noexcept {
  std::atomic<std::uint32_t>& looks = slots_[worker].looks;
  looks.store(looks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (slots_[worker].busy.load(std::memory_order_relaxed)) [[unlikely]] {
    busy(worker, false);
  }
}

bool Parking::look_after() noexcept {
  bool found = false;
  for (unsigned worker = 0; worker < workers_; ++worker) {
    Slot& slot = slots_[worker];
    WorkerQueue* const queue = slot.queue.load(std::memory_order_acquire);
    const std::uint32_t looks = slot.looks.load(std::memory_order_relaxed);
    const bool silent = std::exchange(slot.looks_seen, looks) == looks;
    if (silent && queue != nullptr && queue->in_flight() > 0 &&
        slot.state.load(std::memory_order_relaxed) < asleep_on_word) {
      found |= !slot.busy.exchange(true, std::memory_order_seq_cst);
      // Also where it was busy. A worker that was woken for a completion may have begun a long body. One that was awake may have gone to
      // sleep just afterwards.
      follow_busy(slot, *queue);
      if (queue->gathered() > 0) {
        queue->hand_over();  // kept back for what was to begin soon after
      }
    }
  }
  return found;
}

void Parking::answer() noexcept {
  std::array<epoll_event, 16> events;
  while (epoll_wait(descriptor(), events.data(), static_cast<int>(events.size()), 0) ==
         static_cast<int>(events.size())) {
  }
}

}  // namespace dovetail::storage
