// Bodies that hold a worker while they wait in the operating system: noticed, and told once for each function.
#pragma once

#include <cstdint>

#include "blocking_looks.hpp"

namespace nanobind {
class module_;
}

namespace dovetail::python {

class Call;

/// Lives while the body of a task runs. A thread looks, 20 times a second, at bodies on workers that may take long: which call of the operating
/// system are they in? Waits for locks and for the interpreter do not count, and neither do pauses. Of bodies that are known to be short, one in
/// 16 is timed, by a coarse clock. It is made and destroyed by the thread of the body, which holds the interpreter.
class BlockingWatch {
 public:
  explicit BlockingWatch(const Call& call) noexcept;
  ~BlockingWatch();
  BlockingWatch(const BlockingWatch&) = delete;
  BlockingWatch& operator=(const BlockingWatch&) = delete;

 private:
  friend class BlockingObserver;
  const Call& call_;
  BlockingLooks* looks_;  ///< Null: not looked at.
  std::int64_t begun_ = 0;
  int thread_ = 0;  ///< As the kernel numbers it; 0: no thread looks at this body.
};

void bind_blocking_bodies(nanobind::module_& module);

}  // namespace dovetail::python
