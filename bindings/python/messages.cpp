#include "messages.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dovetail/detail/body.hpp"
#include "dovetail/detail/mpi_calls.hpp"
#include "failure.hpp"
#include "held.hpp"
#include "tasking/pause.hpp"
#include "thread_state.hpp"

namespace nb = nanobind;

namespace dovetail::python {
namespace {

using detail::mpi::Abi;

// Where a handle of MPI lies inside of an object of mpi4py.
using Addresses = std::vector<std::uintptr_t>;

std::byte* place(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

void check_size(std::size_t size) {
  const std::size_t expected = detail::mpi::request_size();
  if (size != expected) {
    throw std::invalid_argument("a request of mpi4py has " + std::to_string(size) +
                                " bytes, and one of the MPI library of this process " + std::to_string(expected));
  }
}

// What requests are, told before MPI ends them: another may have the handle of one that has ended.
class Described {
 public:
  Described(const Addresses& requests, std::size_t size) {
    descriptions_.reserve(requests.size());
    for (const std::uintptr_t request : requests) {
      descriptions_.push_back(detail::mpi::describe_request(place(request), size, ""));
    }
  }
  /// Empty if that is not known.
  std::string text(std::size_t number) const {
    const detail::mpi::Description& its = descriptions_.at(number);
    return *its.call != '\0' ? detail::mpi::text_of(its) : std::string();
  }

 private:
  std::vector<detail::mpi::Description> descriptions_;
};

// The caller keeps the requests.
template <class Result>
Result wait_for(Result (*wait)(const void* const*, std::size_t), const Addresses& requests, std::size_t size) {
  return translated([&] {
    check_size(size);
    const std::vector<const void*> places(reinterpret_cast<const void* const*>(requests.data()),
                                          reinterpret_cast<const void* const*>(requests.data()) + requests.size());
    const Unlocked unlocked;
    return wait(places.data(), places.size());
  });
}
bool wait_for_requests(const Addresses& requests, std::size_t size) {
  return wait_for(detail::mpi::wait_until_ended, requests, size);
}
std::size_t wait_for_one_request(const Addresses& requests, std::size_t size) {
  return wait_for(detail::mpi::wait_until_one_ended, requests, size);
}

// Until the task has completed.
void keep(nb::handle kept) {
  if (detail::Task* const task = tasking::current_task()) {
    std::function<void()> forget = [holder = std::make_shared<Held>(Held::share(kept.ptr()))] { *holder = Held(); };
    detail::call_when_completed(task, forget);
  }
}

void start_request(std::uintptr_t request, std::size_t size, nb::handle kept) {
  translated([&] {
    check_size(size);
    keep(kept);
    const Unlocked unlocked;  // the thread that is in MPI may be about to call a function of Python
    detail::mpi::start_and_bind(place(request));
  });
}

void check_size_of_status(std::size_t size) {
  const std::size_t expected = detail::mpi::status_size();
  if (size != expected) {
    throw std::invalid_argument("a status of mpi4py has " + std::to_string(size) +
                                " bytes, and one of the MPI library of this process " + std::to_string(expected));
  }
}

// `statuses`: one for each request, or none.
void bind_requests(const Addresses& requests, std::size_t size, bool taken_over, const Addresses& statuses,
                   std::size_t size_of_status, nb::handle kept) {
  translated([&] {
    check_size(size);
    if (!statuses.empty()) {
      check_size_of_status(size_of_status);
    }
    std::vector<std::byte> handles(requests.size() * size);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::memcpy(handles.data() + i * size, place(requests[i]), size);
    }
    keep(kept);
    if (statuses.empty()) {
      detail::mpi::bind(Abi::of_process, handles.data(), requests.size(), nullptr);
    }
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      detail::mpi::bind(Abi::of_process, handles.data() + i * size, 1, place(statuses[i]));
    }
    for (std::size_t i = 0; taken_over && i < requests.size(); ++i) {
      std::memcpy(place(requests[i]), handles.data() + i * size, size);  // null by now
    }
  });
}

}  // namespace

void bind_messages(nb::module_& module) {
  nb::class_<Described>(module, "DescribedRequests",
                        "By which calls requests of MPI were begun, with rank, tag and communicator.")
      .def(nb::init<const Addresses&, std::size_t>(), nb::arg("addresses"), nb::arg("size"))
      .def("text", &Described::text, nb::arg("number"), "Empty where that was not noted.");
  module.def("wait_for_requests", &wait_for_requests, nb::arg("addresses"), nb::arg("size"),
             "Pauses the task until these requests of MPI have ended, and returns True; or for a moment, and returns "
             "False, where a rank has died, so "
             "that a request may have failed without having ended. They stay as they are.");
  module.def("start_request", &start_request, nb::arg("address"), nb::arg("size"), nb::arg("kept").none(),
             "Starts a persistent request of MPI; the task completes no earlier than it has ended.");
  module.def("bind_requests", &bind_requests, nb::arg("addresses"), nb::arg("size"), nb::arg("taken_over"),
             nb::arg("statuses"), nb::arg("size_of_status"), nb::arg("kept").none(),
             "The task completes no earlier than these requests of MPI have ended, and their statuses are known.");
  module.def("wait_for_one_request", &wait_for_one_request, nb::arg("addresses"), nb::arg("size"),
             "The same as wait_for_requests, until one has ended, whose place it returns; or their number, in place of "
             "False.");
}

}  // namespace dovetail::python
