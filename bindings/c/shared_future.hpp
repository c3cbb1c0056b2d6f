// Futures of C as futures of C++.
#pragma once

#include <stdexcept>

#include "dovetail/future.hpp"
#include "frame.hpp"

namespace dovetail::c {

/// A future of C++ for the task of one of C.
class SharedFuture : public FutureBase {
 public:
  explicit SharedFuture(detail::Task* retained) noexcept : FutureBase(retained) {}
};
inline SharedFuture shared(detail::Task* task) noexcept {
  detail::retain(task);
  return SharedFuture(task);
}

/// @throws std::invalid_argument if it is null.
inline detail::Task* task_of(const dovetail_future* future) {
  if (future == nullptr) {
    throw std::invalid_argument("'future' is null");
  }
  return as_task(future);
}

}  // namespace dovetail::c
