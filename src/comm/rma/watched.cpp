#include "comm/rma/watched.hpp"

#include <unistd.h>

#include "comm/rma/checked.hpp"

namespace dovetail::comm::rma {
namespace {

// The child of a fork has its own.
int events_of_process() {
  static int descriptor = -1;
  static pid_t process = -1;
  if (process != getpid()) {
    descriptor = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    process = getpid();
  }
  return descriptor;
}

}  // namespace

Watched::~Watched() {
  if (process_ == getpid()) {
    for (const int descriptor : descriptors_) {
      remove(descriptor);
    }
  }
}

void Watched::add(int descriptor, std::uint32_t events, int rank) {
  if (epoll_ < 0) {
    epoll_ = events_of_process();
    process_ = getpid();
  }
  descriptors_.push_back(descriptor);
  epoll_event event{};
  event.events = events;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  checked(epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

void Watched::remove(int descriptor) const noexcept { epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr); }

std::span<epoll_event> Watched::look(std::span<epoll_event> events) const noexcept {
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  return events.first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

}  // namespace dovetail::comm::rma
