// Events and polling services: how what happens outside becomes part of a task.
#include "dovetail/events.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <string>

#include "argument.hpp"
#include "error.hpp"

namespace dovetail::c {
namespace {

Events& events_of(dovetail_events* events) {
  if (events == nullptr) {
    throw std::invalid_argument("'events' is null");
  }
  return *reinterpret_cast<Events*>(events);
}

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

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

int32_t dovetail_events_add(dovetail_events* events, uint32_t count) {
  return guarded(__func__, [&]() -> int32_t {
    events_of(events).add(count);
    return 0;
  });
}

int32_t dovetail_events_fulfill(dovetail_events* events, uint32_t count) {
  return guarded(__func__, [&]() -> int32_t {
    events_of(events).fulfill(count);
    return 0;
  });
}

int32_t dovetail_events_fail(dovetail_events* events, int32_t code, const char* message) {
  return guarded(__func__, [&]() -> int32_t {
    dovetail::Events& failing = events_of(events);
    if (code >= 0 || code < lowest_code) {
      throw std::invalid_argument("'code' is " + std::to_string(code) + "; it must be a negative errno");
    }
    failing.fail(std::make_exception_ptr(ProgramError(code, message != nullptr ? message : "an event failed")));
    return 0;
  });
}

int32_t dovetail_polling_create(dovetail_runtime* runtime, const char* label, int64_t shortest_ns, int64_t longest_ns,
                                dovetail_poll poll, void* argument, dovetail_polling** polling) {
  return guarded(__func__, [&]() -> int32_t {
    given(runtime, "runtime");
    given(polling, "polling");
    if (poll == nullptr) {
      throw std::invalid_argument("'poll' is null");
    }
    *polling = new dovetail_polling{dovetail::PollingService(runtime->runtime, label != nullptr ? label : "",
                                                             rate_between(shortest_ns, longest_ns),
                                                             [poll, argument] { return poll(argument); })};
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

}  // extern "C"
