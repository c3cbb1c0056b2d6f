// The blocking calls of MPI as Fortran makes them. A call is made as its form with a request *in Fortran*, with the same addresses: so what only
// the library's own part for Fortran knows (MPI_IN_PLACE, MPI_BOTTOM, logical values, descriptors of arrays) is never looked at here.
#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "abi/paused.hpp"
#include "abi/symbols.hpp"
#include "abi/wrappers.hpp"
#include "comm/mpi/library_file.hpp"

namespace dovetail::interpose::mpi {
namespace {

// Every argument is an address, or the length of a text behind the others.
template <std::size_t>
using Word = void*;

using Procedure = void (*)();

template <class... Words>
void make(Procedure procedure, Words... words) {
  reinterpret_cast<void (*)(Words...)>(procedure)(words...);
}
// With the error code, which is the last argument but for lengths of texts.
template <class... Words>
int code_of(Procedure procedure, Words... words) {
  MPI_Fint code = MPI_SUCCESS;
  make(procedure, words..., static_cast<void*>(&code));
  return code;
}
// With mpi_f08 a program may leave it out.
void set_code(void* into, int code) noexcept {
  if (into != nullptr) {
    *static_cast<MPI_Fint*>(into) = code;
  }
}

// What is an integer in Fortran and an address in Open MPI.
#ifdef OPEN_MPI
constinit decltype(PMPI_Comm_f2c)* communicator_of = nullptr;
constinit decltype(PMPI_Request_f2c)* request_of = nullptr;
constinit decltype(PMPI_Win_f2c)* window_of = nullptr;
void find_handles(const Symbols& library) {
  library.find(communicator_of, "MPI_Comm_f2c");
  library.find(request_of, "MPI_Request_f2c");
  library.find(window_of, "MPI_Win_f2c");
}
#else
MPI_Comm communicator_of(MPI_Fint handle) noexcept { return handle; }
MPI_Request request_of(MPI_Fint handle) noexcept { return handle; }
MPI_Win window_of(MPI_Fint handle) noexcept { return handle; }
void find_handles(const Symbols& /*library*/) {}
#endif

struct Fortran {
  static constexpr Awaited::Kind requests = Awaited::Kind::in_fortran;
  static int number(const void* address) noexcept { return *static_cast<const MPI_Fint*>(address); }
  static MPI_Comm communicator(const void* address) noexcept { return communicator_of(number(address)); }
  static MPI_Win window(const void* address) noexcept { return window_of(number(address)); }
};

// Addresses that stand for no status. The library may set them when its part for Fortran is first called. Both libraries' statuses lie in memory
// as those of C.
struct Ignored {
  void** addresses[4] = {};
  void find(const Symbols& library) {
    std::size_t i = 0;
    for (const char* name :
         {"MPI_F_STATUS_IGNORE", "MPI_F_STATUSES_IGNORE", "MPI_F08_STATUS_IGNORE", "MPI_F08_STATUSES_IGNORE"}) {
      addresses[i++] = static_cast<void**>(library.find_object_if_there(name));
    }
  }
};
constinit Ignored ignored;
void* status_or_null(void* status) noexcept {
  for (void* const* const address : ignored.addresses) {
    if (address != nullptr && *address == status) {
      return nullptr;
    }
  }
  return status;
}

// The procedures of one dialect; null if the process has none of that name.
struct Calls {
#define WITH_MPI_3
#if MPI_VERSION >= 4
#define WITH_MPI_4
#endif
#define CALL(Name, lower) Procedure Name;
#define FORM(Name, lower) Procedure Name;
#include "calls.def"
};

// `mpif.h` and the module `mpi`; the module `mpi_f08`, and its procedures that get descriptors of arrays; these two with large counts.
struct Plain {
  static constexpr const char* suffix = "_";
  static constexpr bool is_large = false;
  static inline constinit Calls calls{};
};
struct F08 {
  static constexpr const char* suffix = "_f08_";
  static constexpr bool is_large = false;
  static inline constinit Calls calls{};
};
struct Described {
  static constexpr const char* suffix = "_f08ts_";
  static constexpr bool is_large = false;
  static inline constinit Calls calls{};
};
struct LargeF08 {
  static constexpr const char* suffix = "_f08_large_";
  static constexpr bool is_large = true;
  static inline constinit Calls calls{};
};
struct LargeDescribed {
  static constexpr const char* suffix = "_f08ts_large_";
  static constexpr bool is_large = true;
  static inline constinit Calls calls{};
};

// What calls with as many arguments have in common is compiled for each number of arguments, and not for each call.
template <std::size_t count>
using Words = std::array<void*, count>;

template <class Name, class Given>
Description describe(const Given& words) noexcept {
  return Name::Of::of(Name::name, Fortran{}, words);
}

// `form` with a request of Fortran, which becomes one of C.
template <std::size_t count>
int start(Procedure form, MPI_Request* request, const Words<count>& words) {
  MPI_Fint started{};
  const int code =
      std::apply([&](auto... each) { return code_of(form, each..., static_cast<void*>(&started)); }, words);
  if (code == MPI_SUCCESS) {
    *request = request_of(started);
  }
  return code;
}

template <std::size_t count>
[[gnu::noinline]] int pause_for(const Description& description, Procedure form, const Words<count>& words,
                                void* status = nullptr) {
  return paused(description, [&](MPI_Request* request) { return start(form, request, words); }, status);
}

template <std::size_t count>
[[gnu::noinline]] int make_collective(const char* name, Procedure form, const Words<count>& words) {
  return with_request(dovetail::mpi::detail::describe(name, Fortran::communicator(words.back())),
                      [&](MPI_Request* request) { return start(form, request, words); });
}

// The code comes between the arguments and the lengths of texts among them.
template <std::size_t count, std::size_t texts>
[[gnu::noinline]] int make_held(const Description& description, Procedure call, const Words<count>& words,
                                const Words<texts>& lengths) {
  return held(description, [&] {
    MPI_Fint code = MPI_SUCCESS;
    std::apply([&](auto... each) { make(call, each...); },
               std::tuple_cat(words, std::tuple(static_cast<void*>(&code)), lengths));
    return code;
  });
}

// The wrappers of each kind in calls.def. `i`: one for each parameter of the call in C, but for the status.
template <class Dialect, class Name, std::size_t... i>
struct Started {
  static void call(Word<i>... given, void* code) {
    if (!in_task()) {
      make(Dialect::calls.*Name::blocking, given..., code);
      return;
    }
    const Words<sizeof...(i)> words{given...};
    set_code(code, pause_for(describe<Name>(words), Dialect::calls.*Name::form, words));
  }
};
template <class Dialect, class Name, std::size_t... i>
struct Received {
  static void call(Word<i>... given, void* status, void* code) {
    if (!in_task()) {
      make(Dialect::calls.*Name::blocking, given..., status, code);
      return;
    }
    const Words<sizeof...(i)> words{given...};
    set_code(code, pause_for(describe<Name>(words), Dialect::calls.*Name::form, words, status_or_null(status)));
  }
};
template <class Dialect, class Name, std::size_t... i>
struct Collective {
  static void call(Word<i>... given, void* code) {
    set_code(code, make_collective(Name::name, Dialect::calls.*Name::form, Words<sizeof...(i)>{given...}));
  }
};
template <class Dialect, class Name, std::size_t... i>
struct Tried {
  static void call(Word<i>... given, void* code) {
    if (!in_task()) {
      make(Dialect::calls.*Name::blocking, given..., code);
      return;
    }
    const std::tuple parameters(given...);
    const auto form = [](auto... words) { return code_of(Dialect::calls.*Name::form, words...); };
    set_code(code, tried(describe<Name>(parameters), [&](int* flag) {
               return with_flag<Name::place>(form, static_cast<void*>(flag), parameters);
             }));
  }
};
template <class Dialect, class Name, std::size_t... i>
struct Noted {
  static void call(Word<i>... given, void* request, void* code) {
    MPI_Fint own = MPI_SUCCESS;
    void* const its_code = code != nullptr ? code : &own;
    make(Dialect::calls.*Name::form, given..., request, its_code);
    if (Fortran::number(its_code) == MPI_SUCCESS) {
      note<Name>(request_of(Fortran::number(request)), Fortran{}, std::tuple(given...));
    }
  }
};
template <class Dialect, class Name, class Lengths, std::size_t... i>
struct Held;
template <class Dialect, class Name, std::size_t... length, std::size_t... i>
struct Held<Dialect, Name, std::index_sequence<length...>, i...> {
  static void call(Word<i>... given, void* code, Word<length>... lengths) {
    if (!in_task()) {
      make(Dialect::calls.*Name::blocking, given..., code, lengths...);
      return;
    }
    const Words<sizeof...(i)> words{given...};
    set_code(code, make_held(describe<Name>(words), Dialect::calls.*Name::blocking, words,
                             Words<sizeof...(length)>{lengths...}));
  }
};

// How long texts are is told by arguments behind all others.
template <class Parameter>
constexpr bool is_text = false;
template <>
constexpr bool is_text<char> = true;
template <class Pointee>
constexpr bool is_text<Pointee*> = is_text<std::remove_cv_t<Pointee>>;

// `made<…>(PMPI_…)`: the wrapper of a kind, for a call with the parameters of that function, the last `left_out` of which it does not count.
template <template <class, class, std::size_t...> class Kind, class Dialect, class Name, std::size_t left_out,
          class... All>
Procedure made(int (*)(All...)) {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return reinterpret_cast<Procedure>(&Kind<Dialect, Name, i...>::call);
  }(std::make_index_sequence<sizeof...(All) - left_out>{});
}
template <class Dialect, class Name, class... All>
Procedure made_held(int (*)(All...)) {
  using Lengths = std::make_index_sequence<(std::size_t{is_text<All>} + ... + 0)>;
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return reinterpret_cast<Procedure>(&Held<Dialect, Name, Lengths, i...>::call);
  }(std::index_sequence_for<All...>{});
}

// Those with wrappers of their own.
template <class Dialect>
struct Own {
  static void waitall(void* count, void* requests, void* statuses, void* code) {
    if (!in_task()) {
      make(Dialect::calls.Waitall, count, requests, statuses, code);
      return;
    }
    const auto test_all = [&](int* flag, MPI_Status* present) {
      return code_of(Dialect::calls.Testall, count, requests, static_cast<void*>(flag), static_cast<void*>(present));
    };
    set_code(code,
             wait_for_all(Fortran::number(count), requests, Fortran::requests, test_all, status_or_null(statuses)));
  }
  static void waitsome(void* count, void* requests, void* ended, void* which, void* statuses, void* code) {
    if (!in_task()) {
      make(Dialect::calls.Waitsome, count, requests, ended, which, statuses, code);
      return;
    }
    const Description waits = waits_for("MPI_Waitsome", requests, Fortran::number(count), Fortran::requests);
    set_code(code, tried(waits, [&](int* flag) {
               const int now = code_of(Dialect::calls.Testsome, count, requests, ended, which, statuses);
               *flag = Fortran::number(ended) != 0 ? 1 : 0;  // MPI_UNDEFINED: none is active
               return now;
             }));
  }
  static void finalize(void* code) {
    set_code(code, finalized([] { return code_of(Dialect::calls.Finalize); }));
  }
};
template <class Dialect, class Call, class Send, class Receive>
struct SendAndReceive {
  static void call(void* sent, void* sent_count, void* sent_type, void* destination, void* sent_tag, void* received,
                   void* received_count, void* received_type, void* source, void* received_tag, void* communicator,
                   void* status, void* code) {
    if (!in_task()) {
      make(Dialect::calls.*Call::blocking, sent, sent_count, sent_type, destination, sent_tag, received, received_count,
           received_type, source, received_tag, communicator, status, code);
      return;
    }
    set_code(code, exchange(
                       dovetail::mpi::detail::between(Call::name, Fortran::number(source),
                                                      Fortran::number(received_tag), Fortran::number(destination),
                                                      Fortran::number(sent_tag), Fortran::communicator(communicator)),
                       [&](MPI_Request* request) {
                         return start(
                             Dialect::calls.*Receive::form, request,
                             Words<6>{received, received_count, received_type, source, received_tag, communicator});
                       },
                       [&](MPI_Request* request) {
                         return start(Dialect::calls.*Send::form, request,
                                      Words<6>{sent, sent_count, sent_type, destination, sent_tag, communicator});
                       },
                       status_or_null(status)));
  }
};

// Each row of calls.def as a type.
namespace call {
#define NAMED(Name)                                 \
  static constexpr const char* name = "MPI_" #Name; \
  static constexpr auto blocking = &Calls::Name;
#define STARTED(Name, lower, Form, of_what)    \
  struct Name {                                \
    NAMED(Name)                                \
    static constexpr auto form = &Calls::Form; \
    using Of = of_what;                        \
  };
#define RECEIVED(Name, lower, Form, of_what) STARTED(Name, lower, Form, of_what)
#define COLLECTIVE(Name, lower, Form) STARTED(Name, lower, Form, Undescribed)
#define TRIED(Name, lower, Form, where, of_what) \
  struct Name {                                  \
    NAMED(Name)                                  \
    static constexpr auto form = &Calls::Form;   \
    static constexpr std::size_t place = where;  \
    using Of = of_what;                          \
  };
#define HELD(Name, lower, of_what) \
  struct Name {                    \
    NAMED(Name)                    \
    using Of = of_what;            \
  };
#define OWN(Name, lower) HELD(Name, lower, Undescribed)
#define FORM(Name, lower)                      \
  struct Name {                                \
    static constexpr auto form = &Calls::Name; \
  };
#define NOTED(Name, lower, of_what)                   \
  struct Name {                                       \
    static constexpr const char* name = "MPI_" #Name; \
    static constexpr auto form = &Calls::Name;        \
    using Of = of_what;                               \
  };
#define NOTED_IN_C(Name, of)
#define HELD_IN_C(Name, of)
#define BEGUN(Name, lower, of_what) NOTED(Name, lower, of_what)
#define WITH_MPI_3
#if MPI_VERSION >= 4
#define WITH_MPI_4
#endif
#include "calls.def"
#undef NAMED
}  // namespace call

template <class Dialect, class Call>
constexpr std::nullptr_t own{};
template <class Dialect>
constexpr auto own<Dialect, call::Waitall> = Own<Dialect>::waitall;
template <class Dialect>
constexpr auto own<Dialect, call::Waitsome> = Own<Dialect>::waitsome;
template <class Dialect>
constexpr auto own<Dialect, call::Finalize> = Own<Dialect>::finalize;
template <class Dialect>
constexpr auto own<Dialect, call::Sendrecv> = SendAndReceive<Dialect, call::Sendrecv, call::Isend, call::Irecv>::call;
#if MPI_VERSION >= 4
template <class Dialect>
constexpr auto own<Dialect, call::Sendrecv_c> =
    SendAndReceive<Dialect, call::Sendrecv_c, call::Isend_c, call::Irecv_c>::call;
#endif

// The libraries of the process that have procedures of MPI for Fortran.
class FortranLibraries {
 public:
  FortranLibraries() {
    std::vector<std::string> paths;
    dl_iterate_phdr(
        [](dl_phdr_info* information, std::size_t, void* into) {
          if (comm::mpi::is_fortran_library_file(information->dlpi_name)) {
            static_cast<std::vector<std::string>*>(into)->emplace_back(information->dlpi_name);
          }
          return 0;
        },
        &paths);
    for (const std::string& path : paths) {
      if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
        handles_.push_back(handle);
      }
    }
  }
  bool empty() const noexcept { return handles_.empty(); }
  template <class Dialect>
  Procedure find(const char* lower) const {
    const std::string name = std::string("mpi_") + lower + Dialect::suffix;
    for (void* const handle : handles_) {
      if (void* const found = dlsym(handle, name.c_str())) {
        return reinterpret_cast<Procedure>(found);
      }
    }
    return nullptr;
  }

 private:
  std::vector<void*> handles_;
};

template <class Dialect>
void find_calls(const FortranLibraries& libraries) {
  if constexpr (!Dialect::is_large) {
#define WITH_MPI_3
#define CALL(Name, lower) Dialect::calls.Name = libraries.find<Dialect>(#lower);
#define FORM(Name, lower) Dialect::calls.Name = libraries.find<Dialect>(#lower);
#include "calls.def"
  } else {
#if MPI_VERSION >= 4
#define WITH_MPI_4
#endif
#define CALL(Name, lower) Dialect::calls.Name = libraries.find<Dialect>(#lower);
#define FORM(Name, lower) Dialect::calls.Name = libraries.find<Dialect>(#lower);
#include "calls.def"
  }
}

template <class Dialect>
void lead_dialect(LeadCall lead, const FortranLibraries& libraries) {
  find_calls<Dialect>(libraries);
  const Calls& calls = Dialect::calls;
  const auto lead_to = [lead](const char* lower, Procedure wrapper, Procedure blocking, Procedure form) {
    if (blocking != nullptr && form != nullptr) {
      lead((std::string("mpi_") + lower + Dialect::suffix).c_str(), wrapper);
    }
  };
// The calls with large counts are those of other dialects: nothing is made of them here, or of them alone.
#define LEAD(Name, lower, wrapper, form)                                        \
  if constexpr (std::string_view(#Name).ends_with("_c") == Dialect::is_large) { \
    lead_to(#lower, wrapper, calls.Name, calls.form);                           \
  }
#define STARTED(Name, lower, Form, of) LEAD(Name, lower, (made<Started, Dialect, call::Name, 0>(mpi().Name)), Form)
#define RECEIVED(Name, lower, Form, of) LEAD(Name, lower, (made<Received, Dialect, call::Name, 1>(mpi().Name)), Form)
#define COLLECTIVE(Name, lower, Form) LEAD(Name, lower, (made<Collective, Dialect, call::Name, 1>(mpi().Form)), Form)
#define TRIED(Name, lower, Form, place, of) LEAD(Name, lower, (made<Tried, Dialect, call::Name, 0>(mpi().Name)), Form)
#define NOTED(Name, lower, of) LEAD(Name, lower, (made<Noted, Dialect, call::Name, 1>(mpi().Name)), Name)
#define NOTED_IN_C(Name, of)
#define HELD_IN_C(Name, of)
#define BEGUN(Name, lower, of) NOTED(Name, lower, of)
#define HELD(Name, lower, of) LEAD(Name, lower, (made_held<Dialect, call::Name>(mpi().Name)), Name)
// A copy of what is sent would have to be described as an array of Fortran.
#define OWN(Name, lower)                                                                            \
  if constexpr (!std::is_null_pointer_v<std::remove_const_t<decltype(own<Dialect, call::Name>)>>) { \
    LEAD(Name, lower, reinterpret_cast<Procedure>(own<Dialect, call::Name>), Name)                  \
  } else {                                                                                          \
    HELD(Name, lower, Undescribed)                                                                  \
  }
#define WITH_MPI_3
#if MPI_VERSION >= 4
#define WITH_MPI_4
#endif
#include "calls.def"
#undef LEAD
}

}  // namespace

void lead_fortran_calls(LeadCall lead, const Symbols& library) {
  const FortranLibraries libraries;
  if (libraries.empty()) {
    return;
  }
  find_handles(library);
  ignored.find(library);
  lead_dialect<Plain>(lead, libraries);
  lead_dialect<F08>(lead, libraries);
  lead_dialect<Described>(lead, libraries);
  lead_dialect<LargeF08>(lead, libraries);
  lead_dialect<LargeDescribed>(lead, libraries);
}

}  // namespace dovetail::interpose::mpi
