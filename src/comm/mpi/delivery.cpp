#include "comm/mpi/delivery.hpp"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "comm/mpi/loader.hpp"
#include "dovetail/mpi_error.hpp"

namespace dovetail::comm::mpi {
namespace {

using detail::mpi::Awaited;
using Handle = decltype(Operation::request);

std::string text_of(const Description& description, const Library& library) {
  std::string text = description.call;
  if (description.peer != detail::mpi::no_peer) {
    text += description.receives ? " from " : " to ";
    text += description.peer == detail::mpi::any_source ? "any rank" : "rank " + std::to_string(description.peer);
  }
  if (description.tag != detail::mpi::no_tag) {
    text += description.tag == detail::mpi::any_tag ? " with any tag" : " with tag " + std::to_string(description.tag);
  }
  if (description.has_communicator) {
    const std::string name = library.name_of(description.communicator);
    text += " in " + (name.empty() ? std::string("a communicator of the program") : name);
  }
  return text;
}

Handle handle_in(const Awaited& awaited, std::size_t place, const Library& library) {
  Handle handle{};
  if (awaited.kind == Awaited::Kind::in_fortran) {
    library.from_fortran(static_cast<const std::int32_t*>(awaited.first)[place], handle.data());
  } else {
    const void* const request = awaited.kind == Awaited::Kind::addresses
                                    ? static_cast<const void* const*>(awaited.first)[place]
                                    : static_cast<const std::byte*>(awaited.first) + place * library.request_size();
    std::memcpy(handle.data(), request, library.request_size());
  }
  return handle;
}

// The first that has not ended and whose call was noted, and how many there are besides.
struct Pending {
  Description first = Description::of("");
  std::size_t others = 0;
};
Pending pending_in(const Awaited& awaited, Library& library) {
  Pending found;
  for (std::size_t i = 0; i < awaited.count; ++i) {
    const Handle handle = handle_in(awaited, i, library);
    if (library.is_null(handle.data()) || (may_call_here() && library.has_ended(handle.data()))) {
      continue;
    }
    const Description its = detail::mpi::describe_request(handle.data(), handle.size(), "");
    if (*found.first.call == '\0' && *its.call != '\0') {
      found.first = its;
    } else {
      ++found.others;
    }
  }
  return found;
}

}  // namespace

std::string text_of(const Operation& operation, const Library& library) {
  return text_of(operation.description, library);
}

std::string text_of_wait(const Operation& operation, Library& library) {
  std::string text = text_of(operation, library);
  library.enter();
  const Pending pending = pending_in(operation.description.awaited, library);
  library.leave();
  if (*pending.first.call != '\0') {
    text += " for " + text_of(pending.first, library);
    if (pending.others > 0) {
      text += " and " + std::to_string(pending.others) + (pending.others == 1 ? " other" : " others");
    }
  }
  return text;
}

std::exception_ptr failure_of(const Operation& operation, const Library& library) noexcept {
  try {
    const Description& of = operation.description;
    return std::make_exception_ptr(
        dovetail::mpi::Error(text_of(operation, library) + ": " + library.text_of(operation.code), operation.code,
                             library.class_of(operation.code), of.call, of.peer, of.tag));
  } catch (...) {
    return std::current_exception();
  }
}

void deliver(Operation* operation) noexcept {
  std::exception_ptr cause = std::move(operation->cause);
  Wait* const wait = operation->wait;
  Task* const task = operation->task;
  drop(operation);
  if (wait == nullptr) {
    tasking::fulfill_event(task, std::move(cause));
    return;
  }
  if (cause && !wait->failed.exchange(true, std::memory_order_relaxed)) {
    wait->cause = std::move(cause);
  }
  Task* const waiting = wait->task;
  if (wait->left.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    tasking::wake(waiting);  // from here on the wait is gone
  }
}

}  // namespace dovetail::comm::mpi
