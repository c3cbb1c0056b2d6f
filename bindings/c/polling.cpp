// Polling services and their operations, and descriptors: how what happens outside becomes part of a task.
#include "dovetail/polling.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include "argument.hpp"
#include "dovetail/this_task.hpp"
#include "error.hpp"

struct dovetail_polling {
  dovetail::PollingService service;
};

namespace dovetail::c {
namespace {

PollingRate rate_between(std::int64_t shortest_ns, std::int64_t longest_ns) {
  PollingRate rate;
  if (natural(shortest_ns, "shortest_ns") != 0) {
    rate.shortest = std::chrono::nanoseconds(shortest_ns);
  }
  if (natural(longest_ns, "longest_ns") != 0) {
    rate.longest = std::chrono::nanoseconds(longest_ns);
  } else {
    rate.longest = std::max(rate.longest, rate.shortest);
  }
  if (shortest_ns == 0) {
    rate.shortest = std::min(rate.shortest, rate.longest);
  }
  if (rate.shortest > rate.longest) {
    throw std::invalid_argument("'shortest_ns' is " + std::to_string(rate.shortest.count()) +
                                "; it must not be above 'longest_ns', " + std::to_string(rate.longest.count()));
  }
  return rate;
}

template <class Wait>
std::int32_t wait_for_descriptor(const char* function, const Wait& wait, std::int32_t descriptor,
                                 std::int64_t at_most_ns) {
  return guarded(function, [&]() -> std::int32_t {
    require_task();
    return wait(descriptor, limit(at_most_ns)) ? 1 : 0;
  });
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

int32_t dovetail_task_wait_readable(int32_t descriptor, int64_t at_most_ns) {
  return wait_for_descriptor(__func__, &dovetail::this_task::wait_readable, descriptor, at_most_ns);
}

int32_t dovetail_task_wait_writable(int32_t descriptor, int64_t at_most_ns) {
  return wait_for_descriptor(__func__, &dovetail::this_task::wait_writable, descriptor, at_most_ns);
}

int32_t dovetail_polling_create(dovetail_runtime* runtime, const char* label, int64_t shortest_ns, int64_t longest_ns,
                                dovetail_poll poll, void* argument, int32_t descriptor, dovetail_polling** polling) {
  return guarded(__func__, [&]() -> int32_t {
    given(runtime, "runtime");
    given(polling, "polling");
    if (poll == nullptr) {
      throw std::invalid_argument("'poll' is null");
    }
    *polling = new dovetail_polling{dovetail::PollingService(
        runtime->runtime, label != nullptr ? label : "", rate_between(shortest_ns, longest_ns),
        [poll, argument] { return poll(argument); }, descriptor)};
    return 0;
  });
}

int32_t dovetail_polling_destroy(dovetail_polling* polling) {
  return guarded(__func__, [&]() -> int32_t {
    if (polling != nullptr && polling->service.pending() > 0) {
      throw std::system_error(
          EBUSY, std::generic_category(),
          "the polling service has " + std::to_string(polling->service.pending()) + " pending operations");
    }
    delete polling;
    return 0;
  });
}

int32_t dovetail_polling_add_pending(dovetail_polling* polling, size_t count) {
  return guarded(__func__, [&]() -> int32_t {
    given(polling, "polling").service.add_pending(count);
    return 0;
  });
}

int64_t dovetail_polling_pending(const dovetail_polling* polling) {
  return guarded(__func__, [&] { return static_cast<int64_t>(given(polling, "polling").service.pending()); });
}

int64_t dovetail_polling_interval(const dovetail_polling* polling) {
  return guarded(__func__, [&] { return static_cast<int64_t>(given(polling, "polling").service.interval().count()); });
}

int32_t dovetail_polling_expect(dovetail_polling* polling, const char* what, dovetail_operation** operation) {
  return guarded(__func__, [&]() -> int32_t {
    given(operation, "operation");
    dovetail::PollingService& service = given(polling, "polling").service;
    *operation = new dovetail_operation{service.expect(&given(what, "what"))};
    return 0;
  });
}

int32_t dovetail_operation_wait(dovetail_operation* operation, int64_t at_most_ns) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::PendingOperation& waited_for = given(operation, "operation").operation;
    if (at_most_ns < 0) {
      waited_for.wait();
      return 1;
    }
    return waited_for.wait_for(limit(at_most_ns)) ? 1 : 0;
  });
}

int32_t dovetail_operation_bind(dovetail_operation* operation) {
  return guarded(__func__, [&]() -> int32_t {
    given(operation, "operation").operation.bind();
    return 0;
  });
}

int32_t dovetail_operation_complete(dovetail_operation* operation) {
  return guarded(__func__, [&]() -> int32_t {
    given(operation, "operation").operation.complete();
    return 0;
  });
}

int32_t dovetail_operation_fail(dovetail_operation* operation, int32_t code, const char* message) {
  return guarded(__func__, [&]() -> int32_t {
    given(operation, "operation").operation.fail(failure_of(code, message, "an operation failed"));
    return 0;
  });
}

int32_t dovetail_operation_retain(dovetail_operation* operation) {
  return guarded(__func__, [&]() -> int32_t {
    given(operation, "operation").owners.fetch_add(1, std::memory_order_relaxed);
    return 0;
  });
}

void dovetail_operation_release(dovetail_operation* operation) {
  if (operation != nullptr && operation->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete operation;
  }
}

}  // extern "C"
