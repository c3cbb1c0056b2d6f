#include "tasking/descriptor_waits.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tasking/pause.hpp"

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
  if (epoll_ >= 0) {
    close(epoll_);
  }
}

bool DescriptorWaits::start() noexcept {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  return epoll_ >= 0;
}

bool DescriptorWaits::add_own(int descriptor, std::uint32_t events) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = own_mark;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void DescriptorWaits::give_up() noexcept {
  if (epoll_ >= 0) {
    close(std::exchange(epoll_, -1));
  }
}

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
  if (epoll_ < 0) {
    return EMFILE;
  }
  const std::lock_guard lock(mutex_);
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
  if (wait->task != nullptr) {
    waiting_.fetch_add(1, std::memory_order_relaxed);
  }
  return 0;
}

void DescriptorWaits::end(const std::shared_ptr<DescriptorWait>& wait, DescriptorWait::End how) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(wait->descriptor);
    if (entry == entries_.end() || std::erase(entry->second.waits, wait) == 0) {
      return;
    }
    if (entry->second.waits.empty()) {
      epoll_ctl(epoll_, EPOLL_CTL_DEL, wait->descriptor, nullptr);
      entries_.erase(entry);
    }
    wait->end = how;
    if (wait->task != nullptr) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  finish({wait});
}

void DescriptorWaits::end_cancelled() noexcept {
  std::vector<std::shared_ptr<DescriptorWait>> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [descriptor, entry] : entries_) {
      for (const auto& wait : entry.waits) {
        if (wait->task != nullptr && cancel_requested(wait->task)) {
          ended.push_back(wait);
        }
      }
    }
  }
  for (const auto& wait : ended) {
    end(wait, DescriptorWait::End::cancelled);
  }
}

void DescriptorWaits::finish(const std::vector<std::shared_ptr<DescriptorWait>>& ended) {
  for (const auto& wait : ended) {
    if (wait->task != nullptr) {
      wake(wait->task);
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
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(descriptor);
    if (entry == entries_.end()) {
      return;
    }
    std::erase_if(entry->second.waits, [&](const std::shared_ptr<DescriptorWait>& wait) {
      if (!all && (wait->events & events) == 0) {
        return false;
      }
      wait->end = DescriptorWait::End::ready;
      ended.push_back(wait);
      return true;
    });
    if (entry->second.waits.empty()) {
      epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
      entries_.erase(entry);
    } else {
      arm(descriptor, entry->second);
    }
    const auto tasks =
        std::count_if(ended.begin(), ended.end(), [](const auto& wait) { return wait->task != nullptr; });
    waiting_.fetch_sub(static_cast<std::size_t>(tasks), std::memory_order_relaxed);
  }
  finish(ended);
}

void DescriptorWaits::wait() {
  epoll_event events[most_at_once];
  const int count = epoll_wait(epoll_, events, most_at_once, -1);
  for (int i = 0; i < count; ++i) {
    if ((events[i].data.u64 & own_mark) == 0) {
      deliver(static_cast<int>(static_cast<std::uint32_t>(events[i].data.u64)), events[i].events);
    }
  }
}

}  // namespace dovetail::tasking
