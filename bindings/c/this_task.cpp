// The task that is running, and handles by which others resume it.
#include "dovetail/this_task.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string_view>

#include "argument.hpp"
#include "dovetail/task.hpp"
#include "error.hpp"

using namespace dovetail::c;

extern "C" {

int32_t dovetail_task_wait(void) {
  return guarded(__func__, []() -> int32_t {
    dovetail::wait();
    return 0;
  });
}

int32_t dovetail_task_active(void) { return dovetail::this_task::active() ? 1 : 0; }

int32_t dovetail_task_cancelled(void) {
  return dovetail::this_task::active() && dovetail::this_task::cancelled() ? 1 : 0;
}

int64_t dovetail_task_label(char* buffer, size_t capacity) {
  return guarded(__func__, [&]() -> int64_t {
    const std::string_view label = dovetail::this_task::label();
    if (capacity > 0) {
      const std::size_t copied = std::min(label.size(), capacity - 1);
      std::copy_n(label.data(), copied, &given(buffer, "buffer"));
      buffer[copied] = '\0';
    }
    return static_cast<int64_t>(label.size());
  });
}

int32_t dovetail_task_events(dovetail_events** events) {
  return guarded(__func__, [&]() -> int32_t {
    given(events, "events") = reinterpret_cast<dovetail_events*>(&dovetail::this_task::events());
    return 0;
  });
}

int32_t dovetail_task_suspend(void) {
  return guarded(__func__, []() -> int32_t {
    dovetail::this_task::suspend();
    return 0;
  });
}

int64_t dovetail_task_wait_for(int64_t nanoseconds) {
  return guarded(__func__, [&]() -> int64_t {
    require_task();
    natural(nanoseconds, "nanoseconds");
    return dovetail::this_task::wait_for(std::chrono::nanoseconds(nanoseconds)).count();
  });
}

int32_t dovetail_task_yield(void) {
  return guarded(__func__, []() -> int32_t {
    require_task();
    dovetail::this_task::yield();
    return 0;
  });
}

int32_t dovetail_handle_current(dovetail_handle** handle) {
  return guarded(__func__, [&]() -> int32_t {
    given(handle, "handle");
    *handle = new dovetail_handle{dovetail::this_task::handle()};
    return 0;
  });
}

int32_t dovetail_handle_resume(const dovetail_handle* handle) {
  return guarded(__func__, [&]() -> int32_t {
    given(handle, "handle").handle.resume();
    return 0;
  });
}

void dovetail_handle_release(dovetail_handle* handle) { delete handle; }

}  // extern "C"
