// Waiting for the first of several things.
#include "dovetail/select.hpp"

#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "argument.hpp"
#include "error.hpp"
#include "shared_future.hpp"
#include "synchronization.hpp"

namespace dovetail::c {
namespace {

dovetail_alternative of_object(std::int32_t kind, const void* object, std::int64_t units = 0) noexcept {
  return {.kind = kind, .descriptor = -1, .units = units, .object = const_cast<void*>(object)};
}

dovetail_alternative of_descriptor(std::int32_t kind, std::int32_t descriptor) noexcept {
  return {.kind = kind, .descriptor = descriptor, .units = 0, .object = nullptr};
}

template <class T>
T& object_of(const dovetail_alternative& alternative, const std::string& name) {
  return given(static_cast<T*>(alternative.object), (name + ".object").c_str());
}

Alternative translate(const dovetail_alternative& alternative, const std::string& name) {
  switch (alternative.kind) {
    case DOVETAIL_SELECT_FUTURE:
      return {shared(as_task(&object_of<const dovetail_future>(alternative, name)))};
    case DOVETAIL_SELECT_SEMAPHORE:
      return {object_of<dovetail_semaphore>(alternative, name).units,
              natural(alternative.units, (name + ".units").c_str())};
    case DOVETAIL_SELECT_MUTEX:
      return {object_of<dovetail_mutex>(alternative, name).lock};
    case DOVETAIL_SELECT_LATCH:
      return {object_of<dovetail_latch>(alternative, name).latch};
    case DOVETAIL_SELECT_OPERATION:
      return {object_of<dovetail_operation>(alternative, name).operation};
    case DOVETAIL_SELECT_READABLE:
      return Alternative::readable(alternative.descriptor);
    default:
      choice(alternative.kind, DOVETAIL_SELECT_WRITABLE, (name + ".kind").c_str());
      return Alternative::writable(alternative.descriptor);
  }
}

}  // namespace
}  // namespace dovetail::c

using namespace dovetail::c;

extern "C" {

dovetail_alternative dovetail_alternative_future(const dovetail_future* future) {
  return of_object(DOVETAIL_SELECT_FUTURE, future);
}

dovetail_alternative dovetail_alternative_semaphore(dovetail_semaphore* semaphore, int64_t units) {
  return of_object(DOVETAIL_SELECT_SEMAPHORE, semaphore, units);
}

dovetail_alternative dovetail_alternative_mutex(dovetail_mutex* mutex) {
  return of_object(DOVETAIL_SELECT_MUTEX, mutex);
}

dovetail_alternative dovetail_alternative_latch(dovetail_latch* latch) {
  return of_object(DOVETAIL_SELECT_LATCH, latch);
}

dovetail_alternative dovetail_alternative_operation(dovetail_operation* operation) {
  return of_object(DOVETAIL_SELECT_OPERATION, operation);
}

dovetail_alternative dovetail_alternative_readable(int32_t descriptor) {
  return of_descriptor(DOVETAIL_SELECT_READABLE, descriptor);
}

dovetail_alternative dovetail_alternative_writable(int32_t descriptor) {
  return of_descriptor(DOVETAIL_SELECT_WRITABLE, descriptor);
}

int64_t dovetail_select(const dovetail_alternative* alternatives, size_t count, int64_t at_most_ns) {
  return guarded(__func__, [&]() -> int64_t {
    std::vector<dovetail::Alternative> all;
    all.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      all.push_back(translate((&given(alternatives, "alternatives"))[i], "alternatives[" + std::to_string(i) + "]"));
    }
    const auto first = dovetail::select(all, {.at_most = limit(at_most_ns), .stop = {}});
    if (!first) {
      throw std::system_error(ETIMEDOUT, std::generic_category(),
                              "none of " + std::to_string(count) + " things has happened in that time");
    }
    return static_cast<int64_t>(*first);
  });
}

}  // extern "C"
