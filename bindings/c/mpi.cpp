// What the inline functions of dovetail_mpi.h, and the module dovetail_mpi of Fortran, call. No mpi.h here: handles are bytes.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "argument.hpp"
#include "dovetail/detail/mpi_calls.hpp"
#include "dovetail/detail/mpi_functions.h"
#include "error.hpp"

using namespace dovetail::c;
using dovetail::detail::mpi::Abi;
using dovetail::detail::mpi::Description;
using dovetail::detail::mpi::Start;

namespace {

Description description_of(const dovetail_mpi_operation& operation) {
  Description made = Description::of(operation.call);
  made.peer = operation.peer;
  made.tag = operation.tag;
  made.receives = operation.receives != 0;
  if (operation.communicator != nullptr && operation.communicator_size <= made.communicator.handle.size()) {
    made.has_communicator = true;
    std::memcpy(made.communicator.handle.data(), operation.communicator, operation.communicator_size);
  }
  if (operation.type != nullptr && operation.type_size <= made.type.handle.size()) {
    made.has_size = true;
    made.count = operation.count;
    std::memcpy(made.type.handle.data(), operation.type, operation.type_size);
  }
  return made;
}

void begin_requests(Abi abi, void* requests, std::size_t count, void* statuses, bool suspends) {
  if (suspends) {
    dovetail::detail::mpi::wait(abi, requests, count, statuses);
  } else {
    dovetail::detail::mpi::bind(abi, requests, count, statuses);
  }
}

// Requests by their numbers. At its end those that are not the program's any more have become `null`.
class FortranRequests {
 public:
  FortranRequests(std::int32_t* numbers, std::size_t count, std::int32_t null)
      : numbers_(numbers, count),
        null_(null),
        given_(dovetail::detail::mpi::requests_from_fortran(numbers, count)),
        left_(given_) {}
  ~FortranRequests() {
    const std::size_t size = numbers_.empty() ? 0 : left_.size() / numbers_.size();
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (std::memcmp(left_.data() + i * size, given_.data() + i * size, size) != 0) {
        numbers_[i] = null_;
      }
    }
  }
  FortranRequests(const FortranRequests&) = delete;
  FortranRequests& operator=(const FortranRequests&) = delete;
  std::byte* data() { return left_.data(); }
  std::size_t size() const { return numbers_.size(); }

 private:
  const std::span<std::int32_t> numbers_;
  const std::int32_t null_;
  const std::vector<std::byte> given_;
  std::vector<std::byte> left_;
};

}  // namespace

extern "C" {

int32_t dovetail_mpi_requests(int32_t abi, void* requests, size_t count, void* statuses, int32_t suspends) {
  return guarded(suspends != 0 ? "dovetail_mpi_wait" : "dovetail_mpi_iwait", [&]() -> int32_t {
    if (count > 0) {
      given(static_cast<std::byte*>(requests), "requests");
    }
    begin_requests(static_cast<Abi>(abi), requests, count, statuses, suspends != 0);
    return 0;
  });
}

int32_t dovetail_mpi_begin(int32_t abi, const dovetail_mpi_operation* operation,
                           int (*start)(const void* arguments, void* request), const void* arguments,
                           size_t argument_size, void* status, int32_t suspends) {
  return guarded(operation->call, [&]() -> int32_t {
    const Start call = Start::of(start, arguments, argument_size);
    const Description description = description_of(*operation);
    if (suspends != 0) {
      dovetail::detail::mpi::start_and_wait(static_cast<Abi>(abi), description, call, status);
    } else {
      dovetail::detail::mpi::start_and_bind(static_cast<Abi>(abi), description, call, status);
    }
    return 0;
  });
}

int32_t dovetail_mpi_attempt(int32_t abi, const dovetail_mpi_operation* operation,
                             int (*attempt)(void* arguments, int* flag), int (*blocking)(void* arguments),
                             void* arguments) {
  return guarded(operation->call, [&]() -> int32_t {
    const auto once = [attempt, arguments](void* ended) {
      int flag = 0;
      const int code = attempt(arguments, &flag);
      *static_cast<bool*>(ended) = flag != 0;
      return code;
    };
    const auto block = [blocking, arguments](void*) { return blocking(arguments); };
    dovetail::detail::mpi::attempt_and_wait(static_cast<Abi>(abi), description_of(*operation), Start::of(once),
                                            Start::of(block));
    return 0;
  });
}

int32_t dovetail_mpi_bind_attempt(int32_t abi, const dovetail_mpi_operation* operation,
                                  int (*attempt)(const void* arguments, void* has_ended), const void* arguments,
                                  size_t argument_size) {
  return guarded(operation->call, [&]() -> int32_t {
    dovetail::detail::mpi::attempt_and_bind(static_cast<Abi>(abi), description_of(*operation),
                                            Start::of(attempt, arguments, argument_size));
    return 0;
  });
}

int32_t dovetail_mpi_fortran_begin(const char* call, int32_t communicator, int32_t peer, int32_t tag, int32_t receives,
                                   int (*start)(const void* arguments, void* request), const void* arguments,
                                   size_t argument_size, void* status) {
  return guarded(call, [&]() -> int32_t {
    Description description = Description::of(call);
    description.peer = peer;
    description.tag = tag;
    description.receives = receives != 0;
    description.has_communicator = true;
    description.communicator = dovetail::detail::mpi::communicator_from_fortran(communicator);
    dovetail::detail::mpi::start_and_bind(Abi::of_process, description, Start::of(start, arguments, argument_size),
                                          status);
    return 0;
  });
}

void dovetail_mpi_fortran_request(int32_t number, void* request) {
  dovetail::detail::mpi::request_from_fortran(number, request);
}

void* dovetail_mpi_fortran_place(void* buffer) { return buffer; }

int32_t dovetail_mpi_fortran_start(int32_t number, void* status) {
  return guarded("MPI_Start", [&]() -> int32_t {
    alignas(8) std::array<std::byte, 8> request{};
    dovetail::detail::mpi::request_from_fortran(number, request.data());
    dovetail::detail::mpi::start_and_bind(request.data(), status);
    return 0;
  });
}

int32_t dovetail_mpi_fortran_parrived(int32_t number, int32_t partition) {
  return guarded("MPI_Parrived", [&]() -> int32_t {
    alignas(8) std::array<std::byte, 8> request{};
    dovetail::detail::mpi::request_from_fortran(number, request.data());
    dovetail::detail::mpi::bind_partition(request.data(), partition);
    return 0;
  });
}

int32_t dovetail_mpi_fortran_requests(int32_t* numbers, int32_t count, int32_t null, void* statuses,
                                      const void* ignored, int32_t suspends) {
  return guarded(suspends != 0 ? "dovetail_mpi_wait" : "dovetail_mpi_iwait", [&]() -> int32_t {
    FortranRequests requests(numbers, natural(count, "count"), null);
    begin_requests(Abi::of_process, requests.data(), requests.size(), statuses == ignored ? nullptr : statuses,
                   suspends != 0);
    return 0;
  });
}

}  // extern "C"
