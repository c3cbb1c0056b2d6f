// An MPI library as Dovetail's messages need it. Compiled once for each binary interface, with that one's mpi.h; linked with no MPI.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "abi/channels.hpp"
#include "abi/functions.hpp"
#include "abi/messages.hpp"
#include "abi/paused.hpp"
#include "abi/symbols.hpp"
#include "abi/wrappers.hpp"
#include "base/starter.hpp"
#include "comm/mpi/library.hpp"
#include "comm/mpi/outstanding.hpp"
#include "comm/rma/message_library.hpp"
#include "tasking/pause.hpp"

namespace dovetail::interpose::mpi {
namespace {

constinit const Functions* the_functions = nullptr;
constinit const Symbols* the_symbols = nullptr;
constinit MPI_Datatype packed{};
constinit MPI_Comm world{};

// Each question makes a group.
constexpr unsigned looks_for_each_question = 16;

using comm::mpi::Communicator;
using comm::mpi::Level;
using comm::mpi::Operation;
using comm::mpi::Outstanding;

static_assert(sizeof(MPI_Request) <= sizeof(Operation::request) && sizeof(MPI_Comm) <= sizeof(Communicator::handle) &&
              sizeof(MPI_Win) <= sizeof(Communicator::handle));

// What mpi.h names by an object of the library, which this is not linked with.
struct Handles {
  MPI_Request null_request;
  MPI_Comm world;
  MPI_Comm self;
  MPI_Errhandler fatal;
  MPI_Request (*request_from_fortran)(MPI_Fint number);
  MPI_Datatype packed;
  MPI_Errhandler returns;
  MPI_Datatype byte;
  MPI_Comm (*communicator_from_fortran)(MPI_Fint number);
};

#ifdef OPEN_MPI
constexpr const char* name_of_libraries = "Open MPI";
Handles find_handles(const Symbols& symbols) {
  MPI_Request (*request_from_fortran)(MPI_Fint number) = nullptr;
  symbols.find(request_from_fortran, "MPI_Request_f2c");
  MPI_Comm (*communicator_from_fortran)(MPI_Fint number) = nullptr;
  symbols.find(communicator_from_fortran, "MPI_Comm_f2c");
  return {static_cast<MPI_Request>(symbols.find_object("ompi_request_null")),
          static_cast<MPI_Comm>(symbols.find_object("ompi_mpi_comm_world")),
          static_cast<MPI_Comm>(symbols.find_object("ompi_mpi_comm_self")),
          static_cast<MPI_Errhandler>(symbols.find_object("ompi_mpi_errors_are_fatal")),
          request_from_fortran,
          static_cast<MPI_Datatype>(symbols.find_object("ompi_mpi_packed")),
          static_cast<MPI_Errhandler>(symbols.find_object("ompi_mpi_errors_return")),
          static_cast<MPI_Datatype>(symbols.find_object("ompi_mpi_byte")),
          communicator_from_fortran};
}
#else
constexpr const char* name_of_libraries = "MPICH, or a library with its interface";
Handles find_handles(const Symbols& /*symbols*/) {
  return {MPI_REQUEST_NULL,
          MPI_COMM_WORLD,
          MPI_COMM_SELF,
          MPI_ERRORS_ARE_FATAL,
          [](MPI_Fint number) { return MPI_Request_f2c(number); },
          MPI_PACKED,
          MPI_ERRORS_RETURN,
          MPI_BYTE,
          [](MPI_Fint number) { return MPI_Comm_f2c(number); }};
}
#endif

// Whether this thread makes calls for tasks.
thread_local constinit bool errors_return = false;

// In place of MPI's default, which ends the program: an error in a call for a task, or of its onready, is the task's.
void end_outside_of_tasks(MPI_Comm communicator, int code) {
  if (errors_return || tasking::task_that_binds() != nullptr) {
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  mpi().Error_string(code, text.data(), &length);
  std::fprintf(stderr, "dovetail: fatal error of MPI outside of tasks: %s\n", text.data());
  mpi().Abort(communicator, code);
}
extern "C" void handle_error(MPI_Comm* communicator, int* code, ...) { end_outside_of_tasks(*communicator, *code); }
extern "C" void handle_window_error(MPI_Win* /*window*/, int* code, ...) { end_outside_of_tasks(world, *code); }

class MpiLibrary final : public comm::mpi::Library {
 public:
  explicit MpiLibrary(const Symbols& symbols) : handles_(find_handles(symbols)), channels_(handles_.world) {
    packed = handles_.packed;
    world = handles_.world;
    symbols.find_if_there(parrived_, "MPI_Parrived");
#ifdef OPEN_MPI  // MPICH's starter would have to answer, and tells of no request
    symbols.find_if_there(get_failed_, "MPIX_Comm_get_failed");
#endif
    comm::rma::set_message_library(
        make_message_library({handles_.world, handles_.self, handles_.returns, handles_.byte, handles_.null_request}));
  }

  std::size_t request_size() const noexcept override { return sizeof(MPI_Request); }
  std::size_t status_size() const noexcept override { return sizeof(MPI_Status); }
  Level level() const override;
  bool is_main_thread() const noexcept override {
    // A program may wait for tasks behind its MPI_Finalize.
    int finalized = 0;
    int is_main = 0;
    return mpi().Finalized(&finalized) == MPI_SUCCESS && finalized == 0 &&
           mpi().Is_thread_main(&is_main) == MPI_SUCCESS && is_main != 0;
  }
  bool is_null(const void* request) const noexcept override {
    return *static_cast<const MPI_Request*>(request) == handles_.null_request;
  }
  void set_null(void* request) const noexcept override {
    std::memcpy(request, &handles_.null_request, sizeof handles_.null_request);
  }
  void from_fortran(std::int32_t number, void* request) const noexcept override {
    const MPI_Request its = handles_.request_from_fortran(number);
    std::memcpy(request, &its, sizeof its);
  }
  Communicator communicator_from_fortran(std::int32_t number) const noexcept override {
    Communicator made;
    const MPI_Comm its = handles_.communicator_from_fortran(number);
    std::memcpy(made.handle.data(), &its, sizeof its);
    return made;
  }
  bool has_partitions() const noexcept override { return parrived_ != nullptr; }
  int test_partition(const void* request, int partition, bool& has_arrived) noexcept override {
    int flag = 0;
    const int code = parrived_(*static_cast<const MPI_Request*>(request), partition, &flag);
    has_arrived = flag != 0;
    return code;
  }
  void set_empty(void* status) const noexcept override;
  std::string text_of(int code) const override;
  int class_of(int code) const noexcept override;
  std::string name_of(const Communicator& communicator) const override;
  void enter() noexcept override;
  void leave() noexcept override { errors_return = false; }
  void expect_errors(const Communicator& communicator) noexcept override;
  void expect_errors_of_window(const Communicator& window) noexcept override;
  const comm::mpi::Channel* channel_of(const Communicator& communicator) noexcept override;
  std::uint64_t bytes_of(const comm::mpi::Description& description) const noexcept override;
  std::size_t test(void* requests, std::span<Operation* const> operations, unsigned* ended) noexcept override;
  int start(const void* request) noexcept override;
  bool has_ended(const void* request) noexcept override;
  bool knows_of_death() noexcept override;
  int wait(void* requests, std::size_t count, void* statuses) noexcept override;

 private:
  void replace_if_fatal(MPI_Comm communicator) noexcept;
  void say_if_started_by_another() const noexcept;
  std::int64_t bytes_in(const MPI_Status& status) const noexcept;
  std::size_t find_dropped(const void* requests, std::span<Operation* const> operations, std::span<const unsigned> told,
                           unsigned* dropped) const noexcept;

  Handles handles_;
  MPI_Errhandler returns_{};  ///< Once it is made.
  MPI_Errhandler returns_of_windows_{};
  bool has_handler_ = false;
  Channels channels_;
  int (*parrived_)(MPI_Request request, int partition, int* flag) = nullptr;  ///< Null: it has no partitions.
  int (*get_failed_)(MPI_Comm communicator, MPI_Group* failed) = nullptr;     ///< Null: this library does not tell.
  unsigned questions_ = 0;
  bool has_died_ = false;  ///< Some rank.
};

Level MpiLibrary::level() const {
  int initialized = 0;
  int finalized = 0;
  mpi().Initialized(&initialized);
  mpi().Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    throw std::logic_error(initialized == 0 ? "a task uses MPI before MPI_Init_thread"
                                            : "a task uses MPI after MPI_Finalize");
  }
  int provided = MPI_THREAD_SINGLE;
  mpi().Query_thread(&provided);
  switch (provided) {
    case MPI_THREAD_MULTIPLE:
      return Level::multiple;
    case MPI_THREAD_SERIALIZED:
      return Level::serialized;
    case MPI_THREAD_FUNNELED:
      return Level::funneled;
    default:
      return Level::single;
  }
}

// MPI 3.1, section 3.7.3: any source, any tag, success, no elements, not cancelled.
void MpiLibrary::set_empty(void* status) const noexcept {
  if (status != nullptr) {
    MPI_Status empty;
    std::memset(&empty, 0, sizeof empty);  // no elements, not cancelled
    empty.MPI_SOURCE = MPI_ANY_SOURCE;
    empty.MPI_TAG = MPI_ANY_TAG;
    empty.MPI_ERROR = MPI_SUCCESS;
    std::memcpy(status, &empty, sizeof empty);
  }
}

std::string MpiLibrary::text_of(int code) const {
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  if (mpi().Error_string(code, text.data(), &length) != MPI_SUCCESS) {
    return "error " + std::to_string(code);
  }
  return {text.data(), static_cast<std::size_t>(length)};
}

int MpiLibrary::class_of(int code) const noexcept {
  int its_class = MPI_ERR_UNKNOWN;
  return mpi().Error_class(code, &its_class) == MPI_SUCCESS ? its_class : MPI_ERR_UNKNOWN;
}

// The program's own communicators may have been freed: to ask such a one for its name may end the process.
std::string MpiLibrary::name_of(const Communicator& communicator) const {
  MPI_Comm handle;
  std::memcpy(&handle, communicator.handle.data(), sizeof handle);
  return handle == handles_.world ? "MPI_COMM_WORLD" : handle == handles_.self ? "MPI_COMM_SELF" : "";
}

void MpiLibrary::enter() noexcept {
  errors_return = true;
  if (!has_handler_) [[unlikely]] {
    has_handler_ = true;
    mpi().Comm_create_errhandler(handle_error, &returns_);
    mpi().Win_create_errhandler(handle_window_error, &returns_of_windows_);
    // MPI reports what it cannot attribute to the world. Communicators that are made from these two inherit the handler.
    replace_if_fatal(handles_.world);
    replace_if_fatal(handles_.self);
    say_if_started_by_another();
  }
}

// Each MPI library has a starter of its own. A process that another one's has started takes itself for a program of one rank.
void MpiLibrary::say_if_started_by_another() const noexcept {
  const base::ProcessRank started = base::rank_of_process();
  int size = 0;
  if (started.rank == 0 && started.size > 1 && mpi().Comm_size(handles_.world, &size) == MPI_SUCCESS && size == 1) {
    std::fprintf(
        stderr,
        "dovetail: %d processes were started together, and each is alone in its MPI_COMM_WORLD: the program uses "
        "%s, and was started by the mpiexec of another MPI library; start it by that of its own\n",
        started.size, name_of_libraries);
  }
}

// Communicators that were made before, or that the program gave MPI's handler. Looked at each time: a handle may be used again for another one.
void MpiLibrary::expect_errors(const Communicator& communicator) noexcept {
  MPI_Comm handle;
  std::memcpy(&handle, communicator.handle.data(), sizeof handle);
  if (handle != handles_.world && handle != handles_.self) {
    replace_if_fatal(handle);
  }
}

// A window has MPI's default until the program gives it another one, whatever its communicator has.
void MpiLibrary::expect_errors_of_window(const Communicator& window) noexcept {
  MPI_Win handle;
  std::memcpy(&handle, window.handle.data(), sizeof handle);
  MPI_Errhandler present{};
  if (mpi().Win_get_errhandler(handle, &present) != MPI_SUCCESS) {
    return;
  }
  if (present == handles_.fatal) {
    mpi().Win_set_errhandler(handle, returns_of_windows_);
  }
  mpi().Errhandler_free(&present);
}

std::uint64_t MpiLibrary::bytes_of(const comm::mpi::Description& description) const noexcept {
  MPI_Datatype type;
  std::memcpy(&type, description.type.handle.data(), sizeof type);
  MPI_Count bytes = 0;
  if (mpi().Type_size_x(type, &bytes) != MPI_SUCCESS || bytes < 0 || description.count < 0) {
    return 0;
  }
  return static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(description.count);
}

const comm::mpi::Channel* MpiLibrary::channel_of(const Communicator& communicator) noexcept {
  MPI_Comm handle;
  std::memcpy(&handle, communicator.handle.data(), sizeof handle);
  return channels_.of(handle);
}

void MpiLibrary::replace_if_fatal(MPI_Comm communicator) noexcept {
  MPI_Errhandler present{};
  if (mpi().Comm_get_errhandler(communicator, &present) != MPI_SUCCESS) {
    return;
  }
  if (present == handles_.fatal) {
    mpi().Comm_set_errhandler(communicator, returns_);
  }
  mpi().Errhandler_free(&present);
}

// What MPI_Testsome says of one request. MPI_Test takes less, and one is the usual number where a task waits for an answer.
int test_one(MPI_Request& request, int& found, int& place, MPI_Status& status) noexcept {
  std::memset(&status, 0, sizeof status);
  place = 0;
  const int code = mpi().Test(&request, &found, &status);
  if (code == MPI_SUCCESS) {
    return MPI_SUCCESS;
  }
  found = 1;
  status.MPI_ERROR = code;
  return MPI_ERR_IN_STATUS;
}

// Of what has been received.
std::int64_t MpiLibrary::bytes_in(const MPI_Status& status) const noexcept {
  MPI_Count count = 0;
  const bool is_known = mpi().Get_elements_x(&status, handles_.byte, &count) == MPI_SUCCESS && count != MPI_UNDEFINED;
  return is_known ? static_cast<std::int64_t>(count) : 0;
}

std::size_t MpiLibrary::test(void* requests, std::span<Operation* const> operations, unsigned* ended) noexcept {
  std::array<int, Outstanding::window> places;
  std::array<MPI_Status, Outstanding::window> statuses;
  auto* const handles = static_cast<MPI_Request*>(requests);
  int found = 0;
  const int code = operations.size() == 1 ? test_one(*handles, found, places[0], statuses[0])
                                          : mpi().Testsome(static_cast<int>(operations.size()), handles, &found,
                                                           places.data(), statuses.data());
  if (found == MPI_UNDEFINED || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) {
    // None is active, as with a persistent request that was never started; or the library is of no use any more.
    for (std::size_t i = 0; i < operations.size(); ++i) {
      operations[i]->code = code;
      ended[i] = static_cast<unsigned>(i);
    }
    return operations.size();
  }
  for (int i = 0; i < found; ++i) {
    const auto place = static_cast<unsigned>(places[static_cast<std::size_t>(i)]);
    MPI_Status& status = statuses[static_cast<std::size_t>(i)];
    Operation& operation = *operations[place];
    operation.code = code == MPI_ERR_IN_STATUS ? status.MPI_ERROR : MPI_SUCCESS;
    status.MPI_ERROR = operation.code;  // MPI leaves it as it was where none has failed in this look
    operation.source = status.MPI_SOURCE;
    operation.received_tag = status.MPI_TAG;
    if (operation.counts_bytes && operation.description.receives) {
      operation.description.count = bytes_in(status);
    }
    if (operation.status != nullptr) {
      std::memcpy(operation.status, &status, sizeof status);
    }
    ended[i] = place;
  }
  const auto told = static_cast<std::size_t>(found);
  return code == MPI_SUCCESS ? told : told + find_dropped(requests, operations, {ended, told}, ended + told);
}

// When a request has failed, Open MPI's MPI_Testsome calls an error handler, which frees every request whose status has an error by then. The
// caller is told only of those that Testsome had found before. The others are receives that failed later, and sends under way, whose status
// is not written yet. MPI completes such a send.
// What a receive failed with is not known: as a rank's death fails many at once, it is most likely the same. @returns How many were written to
// `dropped`.
std::size_t MpiLibrary::find_dropped(const void* requests, std::span<Operation* const> operations,
                                     std::span<const unsigned> told, unsigned* dropped) const noexcept {
  const auto failed =
      std::ranges::find_if(told, [&](unsigned place) { return operations[place]->code != MPI_SUCCESS; });
  std::size_t count = 0;
  for (unsigned place = 0; place < operations.size(); ++place) {
    if (!is_null(static_cast<const MPI_Request*>(requests) + place) || std::ranges::count(told, place) != 0) {
      continue;
    }
    Operation& operation = *operations[place];
    const bool sends = operation.description.peer != detail::mpi::no_peer && !operation.description.receives;
    operation.code = sends ? MPI_SUCCESS : failed != told.end() ? operations[*failed]->code : MPI_ERR_OTHER;
    MPI_Status status;
    set_empty(&status);
    status.MPI_ERROR = operation.code;
    operation.source = status.MPI_SOURCE;
    operation.received_tag = status.MPI_TAG;
    if (operation.status != nullptr) {
      std::memcpy(operation.status, &status, sizeof status);
    }
    dropped[count++] = place;
  }
  return count;
}

int MpiLibrary::start(const void* request) noexcept {
  MPI_Request handle = *static_cast<const MPI_Request*>(request);
  return mpi().Start(&handle);
}

// What the request has failed with is told by the call that frees it.
bool MpiLibrary::has_ended(const void* request) noexcept {
  int ended = 0;
  MPI_Status status;
  const int code = mpi().Request_get_status(*static_cast<const MPI_Request*>(request), &ended, &status);
  return ended != 0 || code != MPI_SUCCESS;
}

// Open MPI 5: MPI_Request_get_status does not look for failures.
bool MpiLibrary::knows_of_death() noexcept {
  if (has_died_ || get_failed_ == nullptr || ++questions_ % looks_for_each_question != 0) {
    return has_died_;
  }
  MPI_Group failed{};
  int count = 0;
  if (get_failed_(handles_.world, &failed) == MPI_SUCCESS) {
    has_died_ = mpi().Group_size(failed, &count) == MPI_SUCCESS && count > 0;
    mpi().Group_free(&failed);
  }
  return has_died_;
}

// The code of one request is its own; of several, that of the first that failed.
int MpiLibrary::wait(void* requests, std::size_t count, void* statuses) noexcept {
  auto* const all = static_cast<MPI_Request*>(requests);
  auto* const into = static_cast<MPI_Status*>(statuses);
  int first = MPI_SUCCESS;
  for (std::size_t i = 0; i < count; ++i) {
    const int code = mpi().Wait(&all[i], into != nullptr ? &into[i] : MPI_STATUS_IGNORE);
    first = first != MPI_SUCCESS ? first : code;
  }
  return first;
}

}  // namespace

const Functions& mpi() { return *the_functions; }
MPI_Datatype packed_type() { return packed; }
bool is_in_call() noexcept { return errors_return; }

}  // namespace dovetail::interpose::mpi

/// The library that the process has loaded from `path`, which lives for ever; null if it is of no use, and the reason in `why_not`.
extern "C" [[gnu::visibility("default")]] dovetail::comm::mpi::Library* dovetail_mpi_library(const char* path,
                                                                                             const char** why_not) {
  using namespace dovetail::interpose::mpi;
  static std::string reason;
  try {
    static auto* const made = [path] {
      the_symbols = new Symbols(path);
      the_functions = new Functions(*the_symbols);
      return new MpiLibrary(*the_symbols);
    }();
    return made;
  } catch (const std::exception& failure) {
    reason = failure.what();
    *why_not = reason.c_str();
    return nullptr;
  }
}

/// Leads the calls of `libdovetail-mpi.so` to those that pause tasks. After the above.
extern "C" [[gnu::visibility("default")]] void dovetail_mpi_lead_calls(dovetail::interpose::mpi::LeadCall lead) {
  using namespace dovetail::interpose::mpi;
  lead_calls(lead);
  lead_fortran_calls(lead, *the_symbols);
}
