#include "tasking/descriptor_waits.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

namespace dovetail::tasking {
namespace {

// Tells the reactor's own descriptors from others in what the kernel reports.
constexpr std::uint64_t own_mark = std::uint64_t{1} << 32;
constexpr int most_at_once = 64;

std::uint32_t wanted_by(const std::vector<std::shared_ptr<DescriptorWait>>& waits) noexcept {
  std::uint32_t events = 0;
  for (const auto& wait : waits) {
    events |= wait->events;
  }
  return events;
}

}  // namespace

DescriptorWaits::~DescriptorWaits() {
  for (const int descriptor : {epoll_.load(), bell_.load()}) {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
}

int DescriptorWaits::start() noexcept {
  const int made = epoll_create1(EPOLL_CLOEXEC);
  if (made < 0) {
    return errno;
  }
  const int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each bell is told once, and need not be read
  event.data.u64 = own_mark;
  if (bell < 0 || epoll_ctl(made, EPOLL_CTL_ADD, bell, &event) != 0) {
    const int refused = errno;
    close(made);
    if (bell >= 0) {
      close(bell);
    }
    return refused;
  }
  bell_.store(bell, std::memory_order_release);
  epoll_.store(made, std::memory_order_release);
  return 0;
}

void DescriptorWaits::notify() noexcept { eventfd_write(bell_, 1); }

// Once for what all its waits want: after a report the kernel is silent until it is armed again.
int DescriptorWaits::arm(int descriptor, Entry& entry) noexcept {
  epoll_event event{};
  event.events = wanted_by(entry.waits) | EPOLLONESHOT;
  event.data.u64 = static_cast<std::uint32_t>(descriptor);
  if (entry.known && epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event) == 0) {
    return 0;
  }
  // New to the kernel; or closed meanwhile, and another file has its number now.
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0 ||
      (errno == EEXIST && epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event) == 0)) {
    entry.known = true;
    return 0;
  }
  return errno;
}

int DescriptorWaits::add(const std::shared_ptr<DescriptorWait>& wait) {
  const base::LockGuard lock(mutex_);
  Entry& entry = entries_[wait->descriptor];
  entry.waits.push_back(wait);
  const int error = arm(wait->descriptor, entry);
  if (error != 0) {
    entry.waits.pop_back();
    if (entry.waits.empty()) {
      entries_.erase(wait->descriptor);
    }
    return error;
  }
  count(*wait, 1);
  return 0;
}

void DescriptorWaits::count(const DescriptorWait& wait, std::ptrdiff_t change) noexcept {
  entered_.fetch_add(static_cast<std::size_t>(change), std::memory_order_seq_cst);
  if (wait.task != nullptr) {
    waiting_.fetch_add(static_cast<std::size_t>(change), std::memory_order_relaxed);
  }
}

void DescriptorWaits::end(const std::shared_ptr<DescriptorWait>& wait, DescriptorWait::End how) noexcept {
  {
    const base::LockGuard lock(mutex_);
    const auto entry = entries_.find(wait->descriptor);
    if (entry == entries_.end() || std::erase(entry->second.waits, wait) == 0) {
      return;
    }
    if (entry->second.waits.empty()) {
      epoll_ctl(epoll_, EPOLL_CTL_DEL, wait->descriptor, nullptr);
      entries_.erase(entry);
    }
    wait->end = how;
    count(*wait, -1);
  }
  finish({wait});
}

void DescriptorWaits::end_cancelled(bool (*is_cancelled)(const Task*)) noexcept {
  std::vector<std::shared_ptr<DescriptorWait>> ended;
  {
    const base::LockGuard lock(mutex_);
    for (auto& [descriptor, entry] : entries_) {
      for (const auto& wait : entry.waits) {
        if (wait->ended && is_cancelled(wait->task)) {
          ended.push_back(wait);
        }
      }
    }
  }
  for (const auto& wait : ended) {
    end(wait, DescriptorWait::End::cancelled);
  }
}

void DescriptorWaits::for_each_wait(const VisitWait& visit) {
  const base::LockGuard lock(mutex_);
  for (const auto& [descriptor, entry] : entries_) {
    for (const auto& wait : entry.waits) {
      if (wait->task != nullptr) {
        visit(wait->task, [&wait = *wait] {
          return "descriptor " + std::to_string(wait.descriptor) +
                 (wait.events == EPOLLIN ? " to be readable" : " to be writable");
        });
      }
    }
  }
}

void DescriptorWaits::finish(const std::vector<std::shared_ptr<DescriptorWait>>& ended) {
  for (const auto& wait : ended) {
    if (wait->ended) {
      wait->ended();
    } else if (wait->end == DescriptorWait::End::ready) {
      wait->ready();
    }
  }
}

void DescriptorWaits::deliver(int descriptor, std::uint32_t events) {
  // An error or a hang-up ends every wait: the next call on the descriptor tells which.
  const bool all = (events & (EPOLLERR | EPOLLHUP)) != 0;
  std::vector<std::shared_ptr<DescriptorWait>> ended;
  {
    const base::LockGuard lock(mutex_);
    const auto entry = entries_.find(descriptor);
    if (entry == entries_.end()) {
      return;
    }
    std::erase_if(entry->second.waits, [&](const std::shared_ptr<DescriptorWait>& wait) {
      if (!all && (wait->events & events) == 0) {
        return false;
      }
      wait->end = DescriptorWait::End::ready;
      count(*wait, -1);
      ended.push_back(wait);
      return true;
    });
    if (entry->second.waits.empty()) {
      epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
      entries_.erase(entry);
    } else {
      arm(descriptor, entry->second);
    }
  }
  finish(ended);
}

// The program has closed descriptors that it did not open, ours among them. A task that waits learns of it from its next
// call.
void DescriptorWaits::lose_all() noexcept {
  epoll_.store(-1, std::memory_order_release);
  bell_.store(-1, std::memory_order_release);
  std::vector<std::shared_ptr<DescriptorWait>> all;
  {
    const base::LockGuard lock(mutex_);
    for (auto& [descriptor, entry] : entries_) {
      for (auto& wait : entry.waits) {
        wait->end = DescriptorWait::End::ready;
        count(*wait, -1);
        all.push_back(std::move(wait));
      }
    }
    entries_.clear();
  }
  finish(all);
}

bool DescriptorWaits::wait(base::TimePoint until) {
  // Not for ever: if the program closes all descriptors, nothing ends this sleep.
  constexpr std::chrono::nanoseconds longest = std::chrono::seconds(1);
  const std::chrono::nanoseconds left = until - base::Clock::now();
  const auto sleep = std::clamp(left, std::chrono::nanoseconds(0), longest).count();
  const timespec timeout{sleep / 1'000'000'000, sleep % 1'000'000'000};
  epoll_event events[most_at_once];
  int count = epoll_pwait2(epoll_, events, most_at_once, &timeout, nullptr);
  if (count < 0 && errno == ENOSYS) {  // before Linux 5.11
    count = epoll_wait(epoll_, events, most_at_once, static_cast<int>((sleep + 999'999) / 1'000'000));
  }
  if (count < 0 && errno != EINTR) {
    lose_all();
  }
  bool delivered = false;
  for (int i = 0; i < count; ++i) {
    if ((events[i].data.u64 & own_mark) == 0) {
      deliver(static_cast<int>(static_cast<std::uint32_t>(events[i].data.u64)), events[i].events);
      delivered = true;
    }
  }
  return delivered;
}

}  // namespace dovetail::tasking
