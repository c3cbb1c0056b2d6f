#include "storage/parking.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.hpp"
#include "storage/uninterposed.hpp"
#include "storage/worker_queue.hpp"

namespace dovetail::storage {
namespace {

using std::chrono::steady_clock;

// A watcher looks after so long, then twice as long, and so on: an owner that is back by then needs no help.
constexpr auto first_tick = std::chrono::microseconds(100);
constexpr unsigned most_doublings = 6;
// After so many looks that found no long slice, it is not worth waking somebody at once only to look.
constexpr unsigned quiet_from = 8;
// From this many looks on the next one is far away; who begins a slice that is expected to be long calls the watcher then.
constexpr unsigned long_tick_from = 3;
constexpr std::uint64_t microseconds_between_wakes = 2000;
// Who waits for operations of its own while somebody else is the watcher looks again after so long: the watcher may have gone.
constexpr auto longest_unwatched = first_tick * (1U << most_doublings);

timespec to_timespec(steady_clock::duration duration) noexcept {
  const auto left = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
  return {left / 1'000'000'000, left % 1'000'000'000};
}

bool make_descriptor(int& descriptor) noexcept {
  if (descriptor < 0) {
    descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  }
  return descriptor >= 0;
}

void drain(int descriptor) noexcept {
  std::uint64_t value = 0;
  const Uninterposed own;
  [[maybe_unused]] const auto ignored = read(descriptor, &value, sizeof value);
}

void ring_bell(int descriptor) noexcept {
  const Uninterposed own;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto ignored = write(descriptor, &one, sizeof one);
}

}  // namespace

Parking::Parking(unsigned workers) : workers_(workers), slots_(std::make_unique<Slot[]>(workers)) {}

Parking::~Parking() {
  for (unsigned worker = 0; worker < workers_; ++worker) {
    if (slots_[worker].wake_descriptor >= 0) {
      close(slots_[worker].wake_descriptor);
    }
  }
  if (watch_descriptor_ >= 0) {
    close(watch_descriptor_);
  }
}

bool Parking::add_queue(unsigned worker, WorkerQueue* queue) noexcept {
  if (!make_descriptor(slots_[worker].wake_descriptor)) {
    return false;
  }
  slots_[worker].queue.store(queue, std::memory_order_seq_cst);
  return true;
}

// False, and awake, if it was notified meanwhile.
bool Parking::advance(Slot& slot, State from, State to) noexcept {
  std::uint32_t expected = from;
  if (slot.state.compare_exchange_strong(expected, to, std::memory_order_seq_cst)) {
    return true;
  }
  slot.state.store(awake, std::memory_order_seq_cst);
  return false;
}

void Parking::park(unsigned worker, TimePoint deadline) noexcept {
  Slot& slot = slots_[worker];
  WorkerQueue* queue = slot.queue.load(std::memory_order_relaxed);
  const bool own = queue != nullptr && (queue->in_flight() > 0 || queue->gathered() > 0);
  if (own && queue->gathered() > 0) {
    started_operations(worker);  // the sleep hands them over
  }
  // It can be woken from here on, before it looks at what others have in flight; `started_operations` does it the other way round,
  // so that one of the two sees the other.
  if (!advance(slot, awake, falling_asleep)) {
    return;
  }
  parked_.fetch_add(1, std::memory_order_seq_cst);
  int none = -1;
  const bool watching = workers_ > 1 && others_in_flight(worker) &&
                        watcher_.compare_exchange_strong(none, static_cast<int>(worker), std::memory_order_seq_cst);
  if (watching) {
    deadline = begin_watch(worker, deadline);
  } else if (own && workers_ > 1) {
    deadline = std::min(deadline, steady_clock::now() + longest_unwatched);
  }
  // A watcher for whom no descriptor is left has no bell, but its sleep is short: it looks after the others all the same.
  const bool on_descriptor = own || (watching && make_descriptor(slot.wake_descriptor));
  if (own) {
    queue->owner_sleeps(true);  // before the state says so: see `Ring::take`
  }
  if (advance(slot, falling_asleep, on_descriptor ? asleep_on_descriptor : asleep_on_word)) {
    if (own) {
      queue->sleep(slot.wake_descriptor, watching ? watch_descriptor_ : -1, deadline);
    } else if (on_descriptor) {
      sleep_on_descriptors(slot, watching, deadline);
    } else {
      sleep_on_word(slot, deadline);
    }
    slot.state.store(awake, std::memory_order_seq_cst);
  }
  if (own) {
    queue->owner_sleeps(false);
  }
  slot.looked_after = 0;
  slot.watched = watching;
  if (watching) {
    end_watch(worker);
  }
  parked_.fetch_sub(1, std::memory_order_relaxed);
}

bool Parking::others_in_flight(unsigned worker) const noexcept {
  for (unsigned other = 0; other < workers_; ++other) {
    const WorkerQueue* queue = slots_[other].queue.load(std::memory_order_seq_cst);
    if (other != worker && queue != nullptr && queue->in_flight() > 0) {
      return true;
    }
  }
  return false;
}

Parking::TimePoint Parking::begin_watch(unsigned worker, TimePoint deadline) noexcept {
  make_descriptor(watch_descriptor_);
  for (unsigned other = 0; other < workers_; ++other) {
    if (other != worker) {
      slots_[other].slice_seen = slots_[other].slice.load(std::memory_order_relaxed);
      slots_[other].polls_seen = slots_[other].polls.load(std::memory_order_relaxed);
    }
  }
  const unsigned doublings = look_soon_.exchange(false, std::memory_order_relaxed)
                                 ? 0
                                 : std::min(quiet_ticks_.load(std::memory_order_relaxed), most_doublings);
  return std::min(deadline, steady_clock::now() + first_tick * (1U << doublings));
}

void Parking::end_watch(unsigned worker) noexcept {
  if (announcing_) {
    drain(watch_descriptor_);
    announcing_ = false;
  }
  unsigned quiet_ticks = quiet_ticks_.load(std::memory_order_relaxed) + 1;
  for (unsigned other = 0; other < workers_; ++other) {
    Slot& slot = slots_[other];
    WorkerQueue* queue = slot.queue.load(std::memory_order_acquire);
    const std::uint64_t slice = slot.slice.load(std::memory_order_relaxed);
    if (other == worker || queue == nullptr || queue->in_flight() == 0) {
      continue;
    }
    const bool long_slice = (slice & 1) != 0 && slice == slot.slice_seen;
    const bool unexpected = slot.polls.load(std::memory_order_relaxed) == slot.polls_seen &&
                            slot.state.load(std::memory_order_relaxed) < asleep_on_word;
    if (!long_slice && !unexpected) {
      continue;
    }
    slots_[worker].looked_after |= std::uint64_t{1} << (other % 64);
    quiet_ticks = 0;
    if (!long_slice) {
      continue;  // its end would not be told, and so not end an announcement
    }
    // The same slice has been running all the time. From now on its completions ring the bell until it ends.
    if (!slot.announceable && watch_descriptor_ >= 0) {
      slot.announceable = queue->register_announcement(watch_descriptor_);
    }
    if (slot.announceable && !slot.announced.exchange(true, std::memory_order_acq_rel)) {
      queue->announce(true);
    }
    announcing_ |= slot.announceable;
  }
  quiet_ticks_.store(quiet_ticks, std::memory_order_relaxed);
  watcher_.store(-1, std::memory_order_seq_cst);
}

bool Parking::looks_after(unsigned worker, unsigned owner) const noexcept {
  return (slots_[worker].looked_after >> (owner % 64) & 1) != 0;
}

void Parking::polled(unsigned worker) noexcept {
  std::atomic<std::uint64_t>& polls = slots_[worker].polls;
  polls.store(polls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool Parking::woken_lately() const noexcept {
  return base::ticks() - woken_to_watch_.load(std::memory_order_relaxed) <
         microseconds_between_wakes * base::ticks_per_microsecond();
}

void Parking::started_operations(unsigned worker) noexcept { find_watcher(worker, false); }

// Wakes one of those that are parked, if nobody watches; it becomes the watcher when it parks again. One that waits for operations of
// its own comes back by itself before long: that is waited for always, or when it has been woken often enough.
void Parking::find_watcher(unsigned worker, bool always_patient) noexcept {
  if (workers_ == 1) {
    return;
  }
  // What is in flight was counted before; who falls asleep says so first, and then looks at that.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (watcher_.load(std::memory_order_seq_cst) >= 0 || parked_.load(std::memory_order_seq_cst) == 0) {
    return;
  }
  const bool patient = always_patient || (quiet_ticks_.load(std::memory_order_relaxed) >= quiet_from && woken_lately());
  for (unsigned other = 0; other < workers_; ++other) {
    if (other == worker || slots_[other].state.load(std::memory_order_seq_cst) < falling_asleep) {
      continue;
    }
    const WorkerQueue* queue = slots_[other].queue.load(std::memory_order_relaxed);
    if (!patient || queue == nullptr || queue->in_flight() == 0) {
      woken_to_watch_.store(base::ticks(), std::memory_order_relaxed);
      unpark(other);
      return;
    }
  }
}

void Parking::sleep_on_word(Slot& slot, TimePoint deadline) noexcept {
  const bool forever = deadline == TimePoint::max();
  while (slot.state.load(std::memory_order_acquire) == asleep_on_word) {
    const auto left = forever ? steady_clock::duration::max() : deadline - steady_clock::now();
    if (left <= steady_clock::duration::zero()) {
      return;
    }
    const timespec timeout = to_timespec(left);
    syscall(SYS_futex, &slot.state, FUTEX_WAIT_PRIVATE, asleep_on_word, forever ? nullptr : &timeout, nullptr, 0);
  }
}

void Parking::sleep_on_descriptors(Slot& slot, bool watching, TimePoint deadline) noexcept {
  pollfd wanted[2] = {{slot.wake_descriptor, POLLIN, 0}, {watching ? watch_descriptor_ : -1, POLLIN, 0}};
  const timespec timeout = to_timespec(deadline - steady_clock::now());
  ppoll(wanted, watching && watch_descriptor_ >= 0 ? 2 : 1, deadline == TimePoint::max() ? nullptr : &timeout, nullptr);
  if ((wanted[0].revents & POLLIN) != 0) {
    drain(slot.wake_descriptor);
  }
}

void Parking::unpark(unsigned worker) noexcept {
  Slot& slot = slots_[worker];
  const std::uint32_t was = slot.state.exchange(notified, std::memory_order_seq_cst);
  if (was == asleep_on_word) {
    syscall(SYS_futex, &slot.state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  } else if (was == asleep_on_descriptor) {
    ring_bell(slot.wake_descriptor);
  }
}

// The watcher sleeps for long because no slice was. It need not know of each that may be: a look is for those of milliseconds.
void Parking::call_watcher(int watcher) noexcept {
  if (!woken_lately()) {
    woken_to_watch_.store(base::ticks(), std::memory_order_relaxed);
    look_soon_.store(true, std::memory_order_relaxed);
    unpark(static_cast<unsigned>(watcher));
  }
}

void Parking::begin_long_slice(unsigned worker) noexcept {
  Slot& slot = slots_[worker];
  const WorkerQueue* queue = slot.queue.load(std::memory_order_relaxed);
  const bool own = queue != nullptr && queue->in_flight() > 0;
  const int watcher = watcher_.load(std::memory_order_relaxed);
  if (watcher >= 0) {
    if (own && quiet_ticks_.load(std::memory_order_relaxed) >= long_tick_from) {
      call_watcher(watcher);
    }
  } else if (own || (slot.watched && others_in_flight(worker))) {
    find_watcher(worker, true);  // it was the watcher itself, or that one has found work
  }
  slot.watched = false;
}

void Parking::busy(unsigned worker, bool busy) noexcept {
  Slot& slot = slots_[worker];
  const std::uint64_t slice = slot.slice.load(std::memory_order_relaxed);
  slot.slice.store(busy ? slice | 1 : (slice | 1) + 1, std::memory_order_relaxed);
  if (busy) {
    begin_long_slice(worker);
  } else if (slot.announced.load(std::memory_order_relaxed) &&
             slot.announced.exchange(false, std::memory_order_acq_rel)) {
    slot.queue.load(std::memory_order_relaxed)->announce(false);
  }
}

}  // namespace dovetail::storage
