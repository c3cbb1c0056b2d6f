// What the calling thread is to Dovetail.
#pragma once

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
using detail::Task;
class Worker;

struct ThreadContext {
  RuntimeCore* core = nullptr;  ///< Of a worker or executor; null on a foreign thread.
  Worker* worker = nullptr;     ///< Null on executors and foreign threads.
  Task* task = nullptr;         ///< Whose body runs.
  Task* onready = nullptr;      ///< Whose `onready` runs.
};

/// Never inlined, so that no compiler keeps the address across a switch to another fiber, after which the thread may be
/// another one. Do not keep the reference across anything that may suspend.
ThreadContext& context() noexcept;

}  // namespace dovetail::tasking
