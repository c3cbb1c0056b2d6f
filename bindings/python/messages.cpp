#include "messages.hpp"

#include <nanobind/nanobind.h>
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

// The caller keeps the requests.
bool wait_for_requests(const Addresses& requests, std::size_t size) {
  return translated([&] {
    check_size(size);
    const std::vector<const void*> places(reinterpret_cast<const void* const*>(requests.data()),
                                          reinterpret_cast<const void* const*>(requests.data()) + requests.size());
    const Unlocked unlocked;
    return detail::mpi::wait_until_ended(places.data(), places.size());
  });
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

void bind_requests(const Addresses& requests, std::size_t size, bool taken_over, nb::handle kept) {
  translated([&] {
    check_size(size);
    std::vector<std::byte> handles(requests.size() * size);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::memcpy(handles.data() + i * size, place(requests[i]), size);
    }
    keep(kept);
    detail::mpi::bind(Abi::of_process, handles.data(), requests.size(), nullptr);
    for (std::size_t i = 0; taken_over && i < requests.size(); ++i) {
      std::memcpy(place(requests[i]), handles.data() + i * size, size);  // null by now
    }
  });
}

}  // namespace

void bind_messages(nb::module_& module) {
  module.def("wait_for_requests", &wait_for_requests, nb::arg("addresses"), nb::arg("size"),
             "Pauses the task until these requests of MPI have ended, and returns True; or for a moment, and returns "
             "False, where a rank has died, so "
             "that a request may have failed without having ended. They stay as they are.");
  module.def("start_request", &start_request, nb::arg("address"), nb::arg("size"), nb::arg("kept").none(),
             "Starts a persistent request of MPI; the task completes no earlier than it has ended.");
  module.def("bind_requests", &bind_requests, nb::arg("addresses"), nb::arg("size"), nb::arg("taken_over"),
             nb::arg("kept").none(), "The task completes no earlier than these requests of MPI have ended.");
}

}  // namespace dovetail::python
