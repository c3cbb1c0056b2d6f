// Futures: references to tasks that were spawned from C.
#include "dovetail/future.hpp"

#include <cerrno>
#include <functional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "argument.hpp"
#include "dovetail/select.hpp"
#include "error.hpp"
#include "frame.hpp"
#include "shared_future.hpp"

using namespace dovetail::c;

extern "C" {

int32_t dovetail_future_wait(const dovetail_future* future) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::detail::wait_task(task_of(future));
    return 0;
  });
}

int32_t dovetail_future_wait_for(const dovetail_future* future, int64_t at_most_ns) {
  return guarded(__func__, [&]() -> int32_t { return shared(task_of(future)).wait_for(limit(at_most_ns)) ? 1 : 0; });
}

int64_t dovetail_future_wait_for_any(const dovetail_future* const* futures, size_t count, int64_t at_most_ns) {
  return guarded(__func__, [&]() -> int64_t {
    std::vector<dovetail::Alternative> all;
    all.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      all.emplace_back(shared(task_of((&given(futures, "futures"))[i])));
    }
    const auto first = dovetail::select(all, {.at_most = limit(at_most_ns), .stop = {}});
    if (!first) {
      throw std::system_error(ETIMEDOUT, std::generic_category(),
                              "none of " + std::to_string(count) + " tasks has completed in that time");
    }
    return static_cast<int64_t>(*first);
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
