// Aligned memory for direct transfers to and from memory of the program that is not aligned. There is a bounded number of
// buffers in the process; a request that finds none waits in a queue and goes on when one is given back.
#pragma once

#include <cstddef>
#include <vector>

#include "base/mutex.hpp"
#include "storage/direct_request.hpp"

namespace dovetail::storage {

/// Thread-safe. Nothing here suspends.
class BouncePool {
 public:
  static constexpr std::size_t most_buffers = 64;

  /// Never destroyed: requests of detached threads may end after static objects.
  static BouncePool& instance() noexcept;

  /// What `acquire` did: gave a buffer, kept the request until there is one, or found that memory is short.
  enum class Answer : std::uint8_t { given, waiting, none };
  Answer acquire(DirectRequest& request) noexcept;
  /// Takes back the request's buffer. Returns a request that was waiting and has the buffer now, or null.
  DirectRequest* release(DirectRequest& request) noexcept;

 private:
  BouncePool();

  base::Mutex mutex_;
  std::vector<BounceBuffer*> free_ GUARDED_BY(mutex_);
  std::size_t made_ GUARDED_BY(mutex_) = 0;
  RequestQueue waiting_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::storage
