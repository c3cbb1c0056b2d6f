// What the kernel says of a thread, to whichever thread asks. Where it does not say, nothing is known, and nothing fails.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace dovetail::admission {

class ObservedThread {
 public:
  enum class State {
    runs,            ///< Or could, if a core were free.
    in_device_call,  ///< Waits in a system call that no other thread lets wait: fsync, pwrite, ...
    waits            ///< For anything else, or it is not known.
  };

  /// The calling thread.
  static const std::shared_ptr<ObservedThread>& self();

  ObservedThread() noexcept;
  ~ObservedThread();
  ObservedThread(const ObservedThread&) = delete;
  ObservedThread& operator=(const ObservedThread&) = delete;

  /// Bytes that it has passed through system calls so far, whichever library made them; nothing if it has ended. Costs a few microseconds.
  std::optional<std::uint64_t> transferred_bytes() const noexcept;
  /// Costs some ten microseconds.
  State state() const noexcept;

 private:
  static std::size_t ask(int descriptor, char* answer, std::size_t most) noexcept;

  const pid_t id_;
  const int counters_;
  mutable std::atomic<std::uint64_t> asked_{0};  ///< Bytes of the answers that this thread has got.
};

}  // namespace dovetail::admission
