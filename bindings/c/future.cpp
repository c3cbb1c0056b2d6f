// Futures: references to tasks that were spawned from C.
#include "dovetail/future.hpp"

#include <functional>

#include "argument.hpp"
#include "error.hpp"
#include "frame.hpp"

namespace dovetail::c {
namespace {

detail::Task* task_of(const dovetail_future* future) {
  if (future == nullptr) {
    throw std::invalid_argument("'future' is null");
  }
  return as_task(future);
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

int32_t dovetail_future_wait(const dovetail_future* future) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::detail::wait_task(task_of(future));
    return 0;
  });
}

int32_t dovetail_future_get(const dovetail_future* future) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::detail::Task* const task = task_of(future);
    dovetail::detail::take_task(task);
    return static_cast<const Frame*>(dovetail::detail::frame_of(task))->result;
  });
}

int32_t dovetail_future_ready(const dovetail_future* future) {
  return guarded(__func__, [&]() -> int32_t { return dovetail::detail::task_ready(task_of(future)) ? 1 : 0; });
}

int32_t dovetail_future_when_completed(const dovetail_future* future, void (*callback)(void* argument),
                                       void* argument) {
  return guarded(__func__, [&]() -> int32_t {
    if (callback == nullptr) {
      throw std::invalid_argument("'callback' is null");
    }
    std::function<void()> call = [callback, argument] { callback(argument); };
    if (!dovetail::detail::call_when_completed(task_of(future), call)) {
      call();
    }
    return 0;
  });
}

int32_t dovetail_future_cancel(const dovetail_future* future) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::detail::cancel_task(task_of(future));
    return 0;
  });
}

int32_t dovetail_future_retain(dovetail_future* future) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::detail::retain(task_of(future));
    return 0;
  });
}

void dovetail_future_release(dovetail_future* future) {
  if (future != nullptr) {
    dovetail::detail::release(as_task(future));
  }
}

}  // extern "C"
