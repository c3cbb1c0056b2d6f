#include "comm/mpi/delivery.hpp"

#include <utility>

#include "dovetail/mpi_error.hpp"

namespace dovetail::comm::mpi {
std::string text_of(const Operation& operation, const Library& library) {
  const Description& description = operation.description;
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
