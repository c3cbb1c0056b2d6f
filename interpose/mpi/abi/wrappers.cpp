#include "abi/wrappers.hpp"

#include <cstddef>
#include <cstring>
#include <exception>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "abi/paused.hpp"
#include "trace/trace.hpp"

namespace dovetail::interpose::mpi {
namespace {

struct C {
  static constexpr Awaited::Kind requests = Awaited::Kind::in_c;
  static int number(int value) noexcept { return value; }
  static MPI_Comm communicator(MPI_Comm value) noexcept { return value; }
  static MPI_Win window(MPI_Win value) noexcept { return value; }
};

template <class Name, class... Given>
Description describe(const std::tuple<Given...>& given) noexcept {
  return Name::Of::of(Name::name, C{}, given);
}

// The wrappers of each kind in calls.def. `All` are the parameters of the form with a request, but for the last; of TRIED and HELD, those
// of the call itself.
template <class Name, class... All>
struct Started {
  static int call(All... given) {
    return !in_task() ? (mpi().*Name::blocking)(given...)
                      : paused(describe<Name>(std::tuple(given...)),
                               [&](MPI_Request* request) { return (mpi().*Name::form)(given..., request); });
  }
};
template <class Name, class... All>
struct Received {
  static int call(All... given, MPI_Status* status) {
    return !in_task()
               ? (mpi().*Name::blocking)(given..., status)
               : paused(
                     describe<Name>(std::tuple(given...)),
                     [&](MPI_Request* request) { return (mpi().*Name::form)(given..., request); }, or_null(status));
  }
};
template <class Name, class... All>
struct Collective {
  static int call(All... given) {
    const auto communicator = std::get<sizeof...(All) - 1>(std::tie(given...));
    return with_request(dovetail::mpi::detail::describe(Name::name, communicator),
                        [&](MPI_Request* request) { return (mpi().*Name::form)(given..., request); });
  }
};
template <class Name, class... All>
struct Tried {
  static int call(All... given) {
    const std::tuple parameters(given...);
    return !in_task() ? (mpi().*Name::blocking)(given...) : tried(describe<Name>(parameters), [&](int* flag) {
      return with_flag<Name::place>(mpi().*Name::form, flag, parameters);
    });
  }
};
// `All` without the request.
template <class Name, class... All>
struct Noted {
  static int call(All... given, MPI_Request* request) {
    const int code = (mpi().*Name::form)(given..., request);
    if (code == MPI_SUCCESS) {
      note<Name>(*request, C{}, std::tuple(given...));
    }
    return code;
  }
};
template <class Name, class... All>
struct Begun {
  static int call(All... given, MPI_Request* request) {
    return !trace::enabled() || !records() ? Noted<Name, All...>::call(given..., request) : recorded(given..., request);
  }

 private:
  // Apart, since it takes addresses of the parameters.
  [[gnu::noinline]] static int recorded(All... given, MPI_Request* request) {
    static constexpr BegunCall call{Name::name, Name::Of::receives, Name::Of::has_communicator};
    const auto start = [&](void* begun) { return (mpi().*Name::form)(given..., static_cast<MPI_Request*>(begun)); };
    return dovetail::detail::mpi::start_recorded(abi, call, describe<Name>(std::tuple(given...)), Start::of(start),
                                                 request);
  }
};
template <class Name, class... All>
struct Held {
  static int call(All... given) {
    const auto make = [&] { return (mpi().*Name::blocking)(given...); };
    return !in_task() ? make() : held(describe<Name>(std::tuple(given...)), make);
  }
};

// The function of a kind, found by the types of a function's parameters.
template <template <class, class...> class Kind, class Name, class... All>
auto* made_of(int (*)(All...)) {
  return &Kind<Name, All...>::call;
}
template <template <class, class...> class Kind, class Name, class... All>
auto* made_of_form(int (*)(All...)) {
  using Parameters = std::tuple<All...>;
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return &Kind<Name, std::tuple_element_t<i, Parameters>...>::call;
  }(std::make_index_sequence<sizeof...(All) - 1>{});
}

// Those with wrappers of their own, with counts of each size.
int wait(MPI_Request* request, MPI_Status* status) {
  if (!in_task()) {
    return mpi().Wait(request, status);
  }
  RecordedRequests recorded(1, request);
  MPI_Status* const into = recorded.status_or_own(status);
  return tried(waits_for("MPI_Wait", request, 1, C::requests), [&](int* flag) {
    const int code = mpi().Test(request, flag, into);
    if (recorded && *flag != 0) {
      recorded.note_end(0, *into);
    }
    return code;
  });
}
int waitany(int count, MPI_Request* requests, int* which, MPI_Status* status) {
  if (!in_task()) {
    return mpi().Waitany(count, requests, which, status);
  }
  RecordedRequests recorded(count, requests);
  MPI_Status* const into = recorded.status_or_own(status);
  return tried(waits_for("MPI_Waitany", requests, count, C::requests), [&](int* flag) {
    const int code = mpi().Testany(count, requests, which, flag, into);
    if (recorded && *flag != 0) {
      recorded.note_end(*which, *into);
    }
    return code;
  });
}
int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!in_task()) {
    return mpi().Waitall(count, requests, statuses);
  }
  const RecordedRequests recorded(count, requests);
  return wait_for_all(
      count, requests, C::requests,
      [&](int* flag, MPI_Status* present) {
        const int code = mpi().Testall(count, requests, flag, present);
        for (int i = 0; recorded && code == MPI_SUCCESS && *flag != 0 && i < count; ++i) {
          recorded.note_end(i, present[i]);
        }
        return code;
      },
      or_null(statuses));
}
int waitsome(int count, MPI_Request* requests, int* ended, int* which, MPI_Status* statuses) {
  if (!in_task()) {
    return mpi().Waitsome(count, requests, ended, which, statuses);
  }
  const RecordedRequests recorded(count, requests);
  std::vector<MPI_Status> present(recorded && or_null(statuses) == nullptr ? static_cast<std::size_t>(count) : 0);
  MPI_Status* const into = present.empty() ? statuses : present.data();
  return tried(waits_for("MPI_Waitsome", requests, count, C::requests), [&](int* flag) {
    const int code = mpi().Testsome(count, requests, ended, which, into);
    *flag = *ended != 0 ? 1 : 0;  // MPI_UNDEFINED: none is active
    for (int i = 0; recorded && code == MPI_SUCCESS && i < *ended; ++i) {
      recorded.note_end(which[i], into[i]);
    }
    return code;
  });
}
// Which message it is, is known whether or not the program wants the status.
int mprobe(int source, int tag, MPI_Comm communicator, MPI_Message* message, MPI_Status* status) {
  if (!in_task()) {
    return mpi().Mprobe(source, tag, communicator, message, status);
  }
  dovetail::detail::mpi::Found found;
  Description description = dovetail::mpi::detail::from("MPI_Mprobe", source, tag, communicator);
  description.found = &found;
  return tried(description, [&](int* flag) {
    return dovetail::mpi::detail::match(mpi().Improbe, source, tag, communicator, flag, *message, status, found);
  });
}
template <class Call, class Send, class Receive>
struct SendAndReceive {
  template <class Count>
  static int call(const void* sent, Count sent_count, MPI_Datatype sent_type, int destination, int sent_tag,
                  void* received, Count received_count, MPI_Datatype received_type, int source, int received_tag,
                  MPI_Comm communicator, MPI_Status* status) {
    if (!in_task()) {
      return (mpi().*Call::blocking)(sent, sent_count, sent_type, destination, sent_tag, received, received_count,
                                     received_type, source, received_tag, communicator, status);
    }
    return exchange(
        dovetail::mpi::detail::between(Call::name, source, received_tag, destination, sent_tag, communicator),
        [&](MPI_Request* request) {
          return (mpi().*Receive::form)(received, received_count, received_type, source, received_tag, communicator,
                                        request);
        },
        [&](MPI_Request* request) {
          return (mpi().*Send::form)(sent, sent_count, sent_type, destination, sent_tag, communicator, request);
        },
        or_null(status));
  }
};
// What is sent is copied first, since the message that comes takes its place. Where there is no room for a copy, or its size is none of MPI's packed
// messages, the call has no other form.
template <class Call, class Send, class Receive, class Pack, class PackSize>
struct Replaced {
  template <class Count>
  static int call(void* data, Count count, MPI_Datatype type, int destination, int sent_tag, int source,
                  int received_tag, MPI_Comm communicator, MPI_Status* status) {
    if (!in_task()) {
      return (mpi().*Call::blocking)(data, count, type, destination, sent_tag, source, received_tag, communicator,
                                     status);
    }
    const dovetail::mpi::detail::Description description =
        dovetail::mpi::detail::between(Call::name, source, received_tag, destination, sent_tag, communicator);
    std::vector<std::byte> copy;
    Count size = 0;
    bool is_too_large = false;
    const int ended = exchange(
        description,
        [&](MPI_Request* request) {
          Count packed = 0;
          int code = (mpi().*PackSize::form)(count, type, communicator, &packed);
          is_too_large = code == MPI_SUCCESS && (!fits<Count>(count, type) || !make_room(copy, packed));
          if (is_too_large) {
            return MPI_ERR_NO_MEM;
          }
          if (code == MPI_SUCCESS) {
            code = (mpi().*Pack::form)(data, count, type, copy.data(), packed, &size, communicator);
          }
          return code != MPI_SUCCESS
                     ? code
                     : (mpi().*Receive::form)(data, count, type, source, received_tag, communicator, request);
        },
        [&](MPI_Request* request) {
          return (mpi().*Send::form)(copy.data(), size, packed_type(), destination, sent_tag, communicator, request);
        },
        or_null(status));
    return !is_too_large ? ended : held(description, [&] {
      return (mpi().*Call::blocking)(data, count, type, destination, sent_tag, source, received_tag, communicator,
                                     status);
    });
  }

 private:
  template <class Count>
  static bool fits(Count count, MPI_Datatype type) {
    MPI_Count bytes = 0;
    return mpi().Type_size_x(type, &bytes) != MPI_SUCCESS || bytes <= 0 ||
           count <= std::numeric_limits<Count>::max() / bytes;
  }
  static bool make_room(std::vector<std::byte>& copy, MPI_Count bytes) {
    try {
      copy.resize(static_cast<std::size_t>(bytes));  // MPI_UNDEFINED is negative
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
};

// Each row of calls.def as a type.
namespace call {
#define NAMED(Name)                                 \
  static constexpr const char* name = "MPI_" #Name; \
  static constexpr auto blocking = &Functions::Name;
#define STARTED(Name, lower, Form, of_what)        \
  struct Name {                                    \
    NAMED(Name)                                    \
    static constexpr auto form = &Functions::Form; \
    using Of = of_what;                            \
  };
#define RECEIVED(Name, lower, Form, of_what) STARTED(Name, lower, Form, of_what)
#define COLLECTIVE(Name, lower, Form) STARTED(Name, lower, Form, Undescribed)
#define TRIED(Name, lower, Form, where, of_what)   \
  struct Name {                                    \
    NAMED(Name)                                    \
    static constexpr auto form = &Functions::Form; \
    static constexpr std::size_t place = where;    \
    using Of = of_what;                            \
  };
#define HELD(Name, lower, of_what) \
  struct Name {                    \
    NAMED(Name)                    \
    using Of = of_what;            \
  };
#define NOTED(Name, lower, of_what)                   \
  struct Name {                                       \
    static constexpr const char* name = "MPI_" #Name; \
    static constexpr auto form = &Functions::Name;    \
    using Of = of_what;                               \
  };
#define NOTED_IN_C(Name, of_what) NOTED(Name, none, of_what)
#define HELD_IN_C(Name, of_what) HELD(Name, none, of_what)
#define BEGUN(Name, lower, of_what) NOTED(Name, lower, of_what)
#define OWN(Name, lower) \
  struct Name {          \
    NAMED(Name)          \
  };
#define FORM(Name, lower)                          \
  struct Name {                                    \
    static constexpr auto form = &Functions::Name; \
  };
#define WITH_MPI_3
#if MPI_VERSION >= 4
#define WITH_MPI_4
#endif
#include "calls.def"
#undef NAMED
}  // namespace call

int finalize() { return finalized(mpi().Finalize); }

template <class Call>
inline constexpr std::nullptr_t own{};
template <>
inline constexpr auto own<call::Waitall> = waitall;
template <>
inline constexpr auto own<call::Waitsome> = waitsome;
template <>
inline constexpr auto own<call::Finalize> = finalize;
template <>
inline constexpr auto own<call::Sendrecv> = SendAndReceive<call::Sendrecv, call::Isend, call::Irecv>::call<int>;
template <>
inline constexpr auto own<call::Sendrecv_replace> =
    Replaced<call::Sendrecv_replace, call::Isend, call::Irecv, call::Pack, call::Pack_size>::call<int>;
#if MPI_VERSION >= 4
template <>
inline constexpr auto own<call::Sendrecv_c> =
    SendAndReceive<call::Sendrecv_c, call::Isend_c, call::Irecv_c>::call<MPI_Count>;
template <>
inline constexpr auto own<call::Sendrecv_replace_c> =
    Replaced<call::Sendrecv_replace_c, call::Isend_c, call::Irecv_c, call::Pack_c, call::Pack_size_c>::call<MPI_Count>;
#endif

}  // namespace

void lead_calls(LeadCall lead) {
  // Null: the library is older than the header.
  const auto lead_to = [lead](const char* name, auto* wrapper, auto* needed) {
    if (needed != nullptr) {
      lead(name, reinterpret_cast<void (*)()>(wrapper));
    }
  };
#define STARTED(Name, lower, Form, of) lead_to("MPI_" #Name, made_of_form<Started, call::Name>(mpi().Form), mpi().Form);
#define RECEIVED(Name, lower, Form, of) \
  lead_to("MPI_" #Name, made_of_form<Received, call::Name>(mpi().Form), mpi().Form);
#define COLLECTIVE(Name, lower, Form) \
  lead_to("MPI_" #Name, made_of_form<Collective, call::Name>(mpi().Form), mpi().Form);
#define TRIED(Name, lower, Form, place, of) lead_to("MPI_" #Name, made_of<Tried, call::Name>(mpi().Name), mpi().Form);
#define HELD(Name, lower, of) lead_to("MPI_" #Name, made_of<Held, call::Name>(mpi().Name), mpi().Name);
#define NOTED(Name, lower, of) lead_to("MPI_" #Name, made_of_form<Noted, call::Name>(mpi().Name), mpi().Name);
#define NOTED_IN_C(Name, of) NOTED(Name, none, of)
#define HELD_IN_C(Name, of) HELD(Name, none, of)
#define BEGUN(Name, lower, of) lead_to("MPI_" #Name, made_of_form<Begun, call::Name>(mpi().Name), mpi().Name);
#define OWN(Name, lower) lead_to("MPI_" #Name, own<call::Name>, mpi().Name);
#define WITH_MPI_3
#if MPI_VERSION >= 4
#define WITH_MPI_4
#endif
#include "calls.def"
  // In place of those that they have as calls that are tried.
  lead_to("MPI_Mprobe", mprobe, mpi().Improbe);
  lead_to("MPI_Wait", wait, mpi().Test);
  lead_to("MPI_Waitany", waitany, mpi().Testany);
}

}  // namespace dovetail::interpose::mpi
