// How a call of MPI pauses the task that makes it, in each language.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <tuple>
#include <vector>

#include "abi/functions.hpp"
#include "dovetail/mpi.hpp"
#include "tasking/pause.hpp"

namespace dovetail::interpose::mpi {

using dovetail::detail::mpi::Awaited;
using dovetail::detail::mpi::BegunCall;
using dovetail::detail::mpi::Description;
using dovetail::detail::mpi::Start;
using dovetail::mpi::detail::abi;
using dovetail::mpi::detail::or_null;
using dovetail::mpi::detail::RecordedRequests;

/// Whether this thread makes a call for a task: what the library calls by itself meanwhile is a part of that.
bool is_in_call() noexcept;
/// Whether a call pauses its task.
inline bool in_task() noexcept { return dovetail::detail::mpi::in_task(abi) && !is_in_call(); }

/// Whether a trace has the messages that the caller starts by itself.
inline bool records() noexcept { return dovetail::detail::mpi::is_recorded(abi) && !is_in_call(); }

/// @name What calls.def says of the parameters of a call. They are values in C and addresses in Fortran: `language` gives a number or a communicator.
/// @{
struct Undescribed {
  static constexpr bool receives = false;
  static constexpr bool has_communicator = false;
  template <class Language, class Parameters>
  static Description of(const char* call, const Language& /*language*/, const Parameters& /*parameters*/) noexcept {
    return Description::of(call);
  }
};
template <std::size_t place>
struct InCommunicator {
  static constexpr bool receives = false;
  static constexpr bool has_communicator = true;
  template <class Language, class Parameters>
  static Description of(const char* call, const Language& language, const Parameters& parameters) noexcept {
    return dovetail::mpi::detail::describe(call, language.communicator(std::get<place>(parameters)));
  }
};
template <std::size_t place>
struct OfWindow {
  template <class Language, class Parameters>
  static Description of(const char* call, const Language& language, const Parameters& parameters) noexcept {
    Description made = Description::of(call);
    made.has_window = true;
    const MPI_Win window = language.window(std::get<place>(parameters));
    std::memcpy(made.communicator.handle.data(), &window, sizeof window);
    return made;
  }
};
template <std::size_t first>
struct ToRank {
  static constexpr bool receives = false;
  static constexpr bool has_communicator = true;
  template <class Language, class Parameters>
  static Description of(const char* call, const Language& language, const Parameters& parameters) noexcept {
    Description made = dovetail::mpi::detail::to(call, language.number(std::get<first>(parameters)),
                                                 language.number(std::get<first + 1>(parameters)),
                                                 language.communicator(std::get<first + 2>(parameters)));
    if constexpr (std::is_integral_v<std::tuple_element_t<first - 2, Parameters>>) {  // in C
      dovetail::mpi::detail::set_size(made, std::get<first - 2>(parameters), std::get<first - 1>(parameters));
    }
    return made;
  }
};
template <std::size_t first>
struct FromRank {
  static constexpr bool receives = true;
  static constexpr bool has_communicator = true;
  template <class Language, class Parameters>
  static Description of(const char* call, const Language& language, const Parameters& parameters) noexcept {
    return dovetail::mpi::detail::from(call, language.number(std::get<first>(parameters)),
                                       language.number(std::get<first + 1>(parameters)),
                                       language.communicator(std::get<first + 2>(parameters)));
  }
};
inline Description waits_for(const char* call, const void* requests, int count, Awaited::Kind kind) noexcept {
  Description made = Description::of(call);
  made.awaited = {requests, count > 0 ? static_cast<std::uint32_t>(count) : 0, kind};
  return made;
}
template <std::size_t place>
struct OneRequest {
  template <class Language, class Parameters>
  static Description of(const char* call, const Language& /*language*/, const Parameters& parameters) noexcept {
    return waits_for(call, std::get<place>(parameters), 1, Language::requests);
  }
};
template <std::size_t first>
struct Requests {
  template <class Language, class Parameters>
  static Description of(const char* call, const Language& language, const Parameters& parameters) noexcept {
    return waits_for(call, std::get<first + 1>(parameters), language.number(std::get<first>(parameters)),
                     Language::requests);
  }
};
/// @}

/// The program has got a request by a call of calls.def with these parameters.
template <class Name, class Language, class Parameters>
void note(MPI_Request request, const Language& language, const Parameters& parameters) noexcept {
  static constexpr BegunCall call{Name::name, Name::Of::receives, Name::Of::has_communicator};
  const Description its = Name::Of::of(Name::name, language, parameters);
  std::uint64_t handle = 0;
  std::memcpy(&handle, &request, sizeof request);
  dovetail::detail::mpi::note_begun(call, handle, its.communicator, its.peer, its.tag);
}

/// `start` starts the operation; the task pauses until it has ended. `status`: where MPI's goes, of any alignment, or null.
template <class Call>
int paused(const Description& description, const Call& start, void* status = nullptr) {
  const auto begin = [&start](void* request) { return start(static_cast<MPI_Request*>(request)); };
  return dovetail::detail::mpi::call(abi, description, Start::of(begin), status);
}

/// `attempt` sets a flag of MPI when the operation has ended.
template <class Attempt>
int tried(const Description& description, const Attempt& attempt) {
  const auto once = [&attempt](void* ended) {
    int flag = 0;
    const int code = attempt(&flag);
    *static_cast<bool*>(ended) = flag != 0;
    return code;
  };
  return dovetail::detail::mpi::attempt(abi, description, Start::of(once));
}

/// `call` has no other form.
template <class Call>
int held(const Description& description, const Call& call) {
  const auto make = [&call](void* /*request*/) { return call(); };
  return dovetail::detail::mpi::held(abi, description, Start::of(make));
}

/// A blocking collective does not match one with a request (MPI 3.1, section 5.12): so all have one, those outside of tasks too.
template <class Call>
int with_request(const Description& description, const Call& start) {
  if (in_task()) {
    return paused(description, start);
  }
  MPI_Request request;
  const int code = start(&request);
  return code != MPI_SUCCESS ? code : mpi().Wait(&request, MPI_STATUS_IGNORE);
}

/// Calls `form` with the parameters and a flag, which is inserted at a place.
template <std::size_t place, class Form, class Flag, class... Given>
auto with_flag(const Form& form, Flag* flag, const std::tuple<Given...>& given) {
  return
      [&]<std::size_t... before, std::size_t... after>(std::index_sequence<before...>, std::index_sequence<after...>) {
        return form(std::get<before>(given)..., flag, std::get<place + after>(given)...);
      }(std::make_index_sequence<place>{}, std::make_index_sequence<sizeof...(Given) - place>{});
}

/// All of some requests. `test_all(flag, statuses)` is MPI_Testall, which may return as soon as one has failed; this returns when all have ended. MPI
/// tells the status of a request once: what has ended by then is null in the next call.
/// `into`: an array of MPI's statuses, of any alignment, or null.
template <class TestAll>
int wait_for_all(int count, const void* requests, Awaited::Kind kind, const TestAll& test_all, void* into) {
  std::vector<MPI_Status> present(count > 0 ? static_cast<std::size_t>(count) : 0);
  std::vector<std::optional<MPI_Status>> ended(present.size());
  bool failed = false;
  int code = tried(waits_for("MPI_Waitall", requests, count, kind), [&](int* flag) {
    const int now = test_all(flag, present.data());
    if (now != MPI_ERR_IN_STATUS) {
      return now;
    }
    failed = true;
    bool pending = false;
    for (std::size_t i = 0; i < present.size(); ++i) {
      int its_class = MPI_SUCCESS;
      mpi().Error_class(present[i].MPI_ERROR, &its_class);
      if (its_class == MPI_ERR_PENDING) {
        pending = true;
      } else if (!ended[i]) {
        ended[i] = present[i];
      }
    }
    *flag = pending ? 0 : 1;
    return MPI_SUCCESS;
  });
  code = code == MPI_SUCCESS && failed ? MPI_ERR_IN_STATUS : code;
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (ended[i]) {
      present[i] = *ended[i];
    } else {
      present[i].MPI_ERROR = MPI_SUCCESS;
    }
  }
  if (into != nullptr && !present.empty()) {
    std::memcpy(into, present.data(), present.size() * sizeof(MPI_Status));
  }
  return code;
}

/// Sends and receives at once. Neither buffer may be left to MPI when the call returns, whatever fails. `status`: as in `paused`.
template <class Receive, class Send>
int exchange(Description description, const Receive& receive, const Send& send, void* status) {
  dovetail::detail::mpi::Found found;
  description.found = &found;
  std::array<MPI_Request, 2> requests;
  std::array<MPI_Status, 2> statuses{};
  std::array<int, 2> codes{MPI_SUCCESS, MPI_SUCCESS};
  std::array<bool, 2> ended{};
  bool begun = false;
  tried(description, [&](int* flag) {
    if (!begun) {
      begun = true;
      codes[0] = receive(&requests[0]);
      ended[0] = codes[0] != MPI_SUCCESS;
      if (!ended[0]) {
        codes[1] = send(&requests[1]);
      }
      ended[1] = ended[0] || codes[1] != MPI_SUCCESS;
      if (!ended[0] && ended[1]) {
        mpi().Cancel(&requests[0]);
      }
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (!ended[i]) {
        int its_end = 0;
        codes[i] = mpi().Test(&requests[i], &its_end, &statuses[i]);
        ended[i] = its_end != 0 || codes[i] != MPI_SUCCESS;
      }
    }
    *flag = ended[0] && ended[1] ? 1 : 0;
    if (*flag != 0 && codes[0] == MPI_SUCCESS) {
      found = {statuses[0].MPI_SOURCE, statuses[0].MPI_TAG};
    }
    return MPI_SUCCESS;
  });
  if (codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS && status != nullptr) {
    std::memcpy(status, &statuses[0], sizeof statuses[0]);
  }
  return codes[0] != MPI_SUCCESS ? codes[0] : codes[1];
}

/// `finalize` ends MPI when nothing of a task is in flight. In a task that would wait for the task itself.
template <class Finalize>
int finalized(const Finalize& finalize) {
  if (tasking::current_task() != nullptr) {
    std::fprintf(
        stderr,
        "dovetail: MPI_Finalize in a task does nothing and returns an error: it waits for what tasks do; call it "
        "outside of tasks\n");
    return MPI_ERR_OTHER;
  }
  return dovetail::detail::mpi::end_operations() ? finalize() : MPI_ERR_OTHER;
}

}  // namespace dovetail::interpose::mpi
