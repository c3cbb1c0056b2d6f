/// @file
/// How the inline functions of <dovetail/mpi.hpp> hand operations to the library: those that need the types of `mpi.h`. Not part of the
/// public contract.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dovetail/detail/mpi_calls.hpp"

namespace dovetail::mpi::detail {

using dovetail::detail::mpi::Description;
using dovetail::detail::mpi::Start;

/// The binary interface of this `mpi.h`.
#ifdef OPEN_MPI
inline constexpr auto abi = dovetail::detail::mpi::Abi::openmpi;
#else
inline constexpr auto abi = dovetail::detail::mpi::Abi::mpich;
#endif

/// Null where the program ignores statuses.
inline void* or_null(MPI_Status* status) noexcept {
  return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE ? nullptr : status;
}

/// For a trace, which messages requests are is told by their handles, and MPI replaces those. The end is noted in the turn: the next request may have the handle
/// of one that has ended.
class RecordedRequests {
 public:
  /// Nothing where no trace has them.
  RecordedRequests(int count, const MPI_Request* requests) {
    if (count > 0 && dovetail::detail::mpi::is_recorded(abi)) [[unlikely]] {
      requests_.assign(requests, requests + count);
    }
  }
  explicit operator bool() const noexcept { return !requests_.empty(); }
  /// Where MPI is to write a status that the program may ignore.
  MPI_Status* status_or_own(MPI_Status* status) noexcept {
    return *this && or_null(status) == nullptr ? &own_ : status;
  }
  /// MPI has said that the request of this place has ended; below 0: none has.
  void note_end(int place, const MPI_Status& status) const noexcept {
    if (*this && place >= 0) {
      dovetail::detail::mpi::note_end(&requests_[static_cast<std::size_t>(place)], {status.MPI_SOURCE, status.MPI_TAG});
    }
  }

 private:
  std::vector<MPI_Request> requests_;
  MPI_Status own_{};
};

/// Of a collective.
inline Description describe(const char* call, MPI_Comm communicator) noexcept {
  static_assert(sizeof communicator <= sizeof(dovetail::detail::mpi::Communicator));
  Description made = Description::of(call);
  made.has_communicator = true;
  // One word: what is written in parts and read as a whole makes the processor wait.
  std::uint64_t word = 0;
  std::memcpy(&word, &communicator, sizeof communicator);
  std::memcpy(made.communicator.handle.data(), &word, sizeof word);
  return made;
}

/// Of a message to a rank.
inline Description to(const char* call, int rank, int tag, MPI_Comm communicator) noexcept {
  Description made = describe(call, communicator);
  made.peer = rank == MPI_PROC_NULL ? dovetail::detail::mpi::no_peer : rank;
  made.tag = tag;
  return made;
}

/// Of what is sent.
inline void set_size(Description& made, std::int64_t count, MPI_Datatype type) noexcept {
  static_assert(sizeof type <= sizeof(dovetail::detail::mpi::Datatype));
  made.has_size = true;
  made.count = count;
  std::memcpy(made.type.handle.data(), &type, sizeof type);
}

/// Of a message to a rank, with what is sent.
inline Description to(const char* call, MPI_Count count, MPI_Datatype type, int rank, int tag,
                      MPI_Comm communicator) noexcept {
  Description made = to(call, rank, tag, communicator);
  set_size(made, count, type);
  return made;
}

/// Of a message from a rank, or from any.
inline Description from(const char* call, int rank, int tag, MPI_Comm communicator) noexcept {
  Description made = to(call, rank, tag, communicator);
  made.receives = true;
  made.peer = rank == MPI_ANY_SOURCE ? dovetail::detail::mpi::any_source : made.peer;
  made.tag = tag == MPI_ANY_TAG ? dovetail::detail::mpi::any_tag : tag;
  return made;
}

/// Of a message from a rank, and one to a rank.
inline Description between(const char* call, int source, int received_tag, int destination, int sent_tag,
                           MPI_Comm communicator) noexcept {
  Description made = from(call, source, received_tag, communicator);
  made.exchanges = true;
  made.sent_to = destination == MPI_PROC_NULL ? dovetail::detail::mpi::no_peer : destination;
  made.sent_tag = sent_tag;
  return made;
}

/// An attempt to match a message by MPI_Improbe. `found` tells of it whether or not the program wants the status.
template <class Improbe>
int match(const Improbe& improbe, int rank, int tag, MPI_Comm communicator, int* flag, MPI_Message& message,
          MPI_Status* status, dovetail::detail::mpi::Found& found) {
  MPI_Status present{};
  const int code = improbe(rank, tag, communicator, flag, &message, &present);
  if (code == MPI_SUCCESS && *flag != 0) {
    found = {present.MPI_SOURCE, present.MPI_TAG};
    if (or_null(status) != nullptr) {
      *status = present;
    }
  }
  return code;
}

/// `call` starts the operation and writes its request; its end is bound to the current task.
template <class Call>
void bind(const Description& description, const Call& call, MPI_Status* status = MPI_STATUS_IGNORE) {
  const auto start = [call](void* request) { return call(static_cast<MPI_Request*>(request)); };
  dovetail::detail::mpi::start_and_bind(abi, description, Start::of(start), or_null(status));
}
/// The same; the current task is suspended until the end.
template <class Call>
void wait(const Description& description, const Call& call, MPI_Status* status = MPI_STATUS_IGNORE) {
  const auto start = [call](void* request) { return call(static_cast<MPI_Request*>(request)); };
  dovetail::detail::mpi::start_and_wait(abi, description, Start::of(start), or_null(status));
}

/// `attempt` sets a flag of MPI when the operation has ended; it is copied, and called by any thread.
template <class Attempt>
Start attempt_of(const Attempt& attempt) {
  return Start::of([attempt](void* ended) {
    int flag = 0;
    const int code = attempt(&flag);
    *static_cast<bool*>(ended) = flag != 0;
    return code;
  });
}
template <class Attempt>
void bind_attempt(const Description& description, const Attempt& attempt) {
  dovetail::detail::mpi::attempt_and_bind(abi, description, attempt_of(attempt));
}
/// The same; the current task is suspended, so both may refer to its variables. Outside of a task `blocking` is called.
template <class Attempt, class Blocking>
void wait_attempt(const Description& description, const Attempt& attempt, const Blocking& blocking) {
  dovetail::detail::mpi::attempt_and_wait(abi, description, attempt_of([&attempt](int* flag) { return attempt(flag); }),
                                          Start::of([&blocking](void*) { return blocking(); }));
}

/// A message received and one sent, as attempts. When it has ended, neither buffer is left to MPI, whatever has failed.
template <class Receive, class Send>
class Exchange {
 public:
  /// Each starts its message and writes the request.
  Exchange(const Receive& receive, const Send& send) : receive_(receive), send_(send) {}
  int operator()(int* flag) {
    if (!begun_) {
      begun_ = true;
      begin();
    }
    for (std::size_t i = 0; i < 2; ++i) {
      if (!ended_[i]) {
        int its_end = 0;
        codes_[i] = MPI_Test(&requests_[i], &its_end, &statuses_[i]);
        ended_[i] = its_end != 0 || codes_[i] != MPI_SUCCESS;
      }
    }
    *flag = ended_[0] && ended_[1] ? 1 : 0;
    if (*flag != 0 && codes_[0] == MPI_SUCCESS) {
      found_ = {statuses_[0].MPI_SOURCE, statuses_[0].MPI_TAG};
    }
    return MPI_SUCCESS;
  }
  const dovetail::detail::mpi::Found& found() const noexcept { return found_; }
  int code_of_receiving() const noexcept { return codes_[0]; }
  int code_of_sending() const noexcept { return codes_[1]; }
  const MPI_Status& status() const noexcept { return statuses_[0]; }

 private:
  void begin() {
    codes_[0] = receive_(&requests_[0]);
    ended_[0] = codes_[0] != MPI_SUCCESS;
    if (!ended_[0]) {
      codes_[1] = send_(&requests_[1]);
    }
    ended_[1] = ended_[0] || codes_[1] != MPI_SUCCESS;
    if (!ended_[0] && ended_[1]) {
      MPI_Cancel(&requests_[0]);  // what would answer it may never come
    }
  }

  const Receive& receive_;
  const Send& send_;
  std::array<MPI_Request, 2> requests_;
  std::array<MPI_Status, 2> statuses_{};
  std::array<int, 2> codes_{MPI_SUCCESS, MPI_SUCCESS};
  std::array<bool, 2> ended_{};
  dovetail::detail::mpi::Found found_;
  bool begun_ = false;
};

/// Suspends the current task until both have ended; outside of a task `blocking` is called. @throws dovetail::mpi::Error
template <class Receive, class Send, class Blocking>
void send_and_receive(const Receive& receive, const Send& send, const Blocking& blocking, Description receiving,
                      MPI_Comm communicator, MPI_Status* status) {
  Exchange exchange(receive, send);
  receiving.found = &exchange.found();
  bool has_blocked = false;
  wait_attempt(
      receiving, [&](int* flag) { return exchange(flag); },
      [&] {
        has_blocked = true;
        return blocking();
      });
  if (exchange.code_of_receiving() != MPI_SUCCESS) {
    dovetail::detail::mpi::fail(abi, receiving, exchange.code_of_receiving());
  }
  if (exchange.code_of_sending() != MPI_SUCCESS) {
    dovetail::detail::mpi::fail(abi, to(receiving.call, receiving.sent_to, receiving.sent_tag, communicator),
                                exchange.code_of_sending());
  }
  if (!has_blocked && or_null(status) != nullptr) {
    *status = exchange.status();
  }
}

/// A collective as a function, made from MPI's form with a request. It has the same parameters without the request, so the last one is
/// the communicator.
template <auto start, bool suspends, class Indices, class... All>
class CollectiveOf;
template <auto start, bool suspends, std::size_t... i, class... All>
class CollectiveOf<start, suspends, std::index_sequence<i...>, All...> {
 public:
  explicit constexpr CollectiveOf(const char* name) noexcept : name_(name) {}
  void operator()(std::tuple_element_t<i, std::tuple<All...>>... given) const {
    MPI_Comm const communicator = std::get<sizeof...(i) - 1>(std::tie(given...));
    const auto call = [given...](MPI_Request* request) { return start(given..., request); };
    if constexpr (suspends) {
      wait(describe(name_, communicator), call);
    } else {
      bind(describe(name_, communicator), call);
    }
  }

 private:
  const char* name_;
};
template <auto start, bool suspends, class... All>
auto collective_of(int (*)(All...))
    -> CollectiveOf<start, suspends, std::make_index_sequence<sizeof...(All) - 1>, All...>;
template <auto start, bool suspends>
using Collective = decltype(collective_of<start, suspends>(start));

/// Whether the arguments fit the parameters, which end in a request: none has to become a narrower number.
template <class... Given>
struct Arguments {
  template <class To, class From>
  static constexpr bool fits = std::is_convertible_v<From, To> &&
                               !(std::is_integral_v<From> && std::is_integral_v<To> && sizeof(From) > sizeof(To));
  template <class... All>
  static constexpr bool fit(int (*)(All...)) {
    if constexpr (sizeof...(All) != sizeof...(Given) + 1) {
      return false;
    } else {
      return []<std::size_t... i>(std::index_sequence<i...>) {
        return (fits<std::tuple_element_t<i, std::tuple<All...>>, Given> && ...);
      }(std::index_sequence_for<Given...>{});
    }
  }
};

/// The same with counts of either size: the form for large ones where an argument does not fit the other.
template <auto start, auto large, bool suspends>
class CollectiveOfEither {
 public:
  explicit constexpr CollectiveOfEither(const char* name) noexcept : name_(name) {}
  template <class... Given>
  void operator()(Given... given) const {
    if constexpr (Arguments<Given...>::fit(start) || !Arguments<Given...>::fit(large)) {
      Collective<start, suspends>{name_}(given...);
    } else {
      Collective<large, suspends>{name_}(given...);
    }
  }

 private:
  const char* name_;
};

}  // namespace dovetail::mpi::detail
