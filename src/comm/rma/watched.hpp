// What wakes a process: its bell, and the ends of the others. One epoll descriptor for all groups of the process, so that runtimes go on watching it.
#pragma once

#include <sys/epoll.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

namespace dovetail::comm::rma {

/// Descriptors that are watched as long as this lives. They are closed after it. Otherwise a child of the process may keep a copy, with which the
/// kernel would go on to report one that is closed here.
class Watched {
 public:
  Watched() noexcept = default;
  /// Those of the child of a fork are its parent's: it takes none out.
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  /// `events`: of epoll. @throws std::system_error
  void add(int descriptor, std::uint32_t events, int rank);
  /// If it is watched. Any thread.
  void remove(int descriptor) const noexcept;
  /// Of epoll; readable when something has happened. -1 before the first `add`.
  int descriptor() const noexcept { return epoll_; }
  /// What has happened, `data.u32` being the rank that was given. @returns As many as there are, up to the size.
  std::span<epoll_event> look(std::span<epoll_event> events) const noexcept;

 private:
  int epoll_ = -1;  ///< Of the process.
  pid_t process_ = -1;
  std::vector<int> descriptors_;
};

}  // namespace dovetail::comm::rma
