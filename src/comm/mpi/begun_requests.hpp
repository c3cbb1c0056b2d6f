// Which messages of a trace the program's own requests are: those that it starts by itself, and hands over or waits for later.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/mutex.hpp"
#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

struct BegunRequest {
  std::uint64_t message = 0;         ///< Its number in the trace.
  const Channel* channel = nullptr;  ///< Null: its messages cannot be told from others'.
  bool receives = false;
};

/// Thread-safe. A handle of MPI is that of one request at a time. Only requests that have ended when they are started may share one.
class BegunRequests {
 public:
  static BegunRequests& of_process();
  /// No address of an operation, which numbers other messages, has the highest bit.
  static std::uint64_t next_number() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    return (std::uint64_t{1} << 63U) | last.fetch_add(1, std::memory_order_relaxed);
  }
  /// Notes that this handle now stands for `begun`. @returns the request that the handle stood for before and that `take` was never called for, if any. If there is no
  /// memory to note it, that is `begun` itself. The trace must be told that what is returned has ended.
  std::optional<BegunRequest> add(std::uint64_t handle, const BegunRequest& begun) noexcept;
  /// Nothing if it is not known. From then on it is not known any more.
  std::optional<BegunRequest> take(std::uint64_t handle) noexcept;

 private:
  base::Mutex mutex_;
  std::unordered_map<std::uint64_t, BegunRequest> begun_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::comm::mpi
