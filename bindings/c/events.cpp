// Events of a task, which any thread fulfils.
#include "dovetail/events.hpp"

#include <stdexcept>

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
    events_of(events).fail(failure_of(code, message, "an event failed"));
    return 0;
  });
}

}  // extern "C"
