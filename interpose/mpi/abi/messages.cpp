#include "abi/messages.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "abi/functions.hpp"

namespace dovetail::interpose::mpi {
namespace {

using AtEnd = void (*)() noexcept;
constinit AtEnd end_of_mpi = nullptr;

extern "C" {
// MPI_Finalize takes the attributes of MPI_COMM_SELF away before it does anything else.
int tell_end(MPI_Comm /*communicator*/, int /*key*/, void* /*value*/, void* /*state*/) {
  end_of_mpi();
  return MPI_SUCCESS;
}
int copy_no_end(MPI_Comm /*from*/, int /*key*/, void* /*state*/, void* /*value*/, void* /*copied*/, int* is_copied) {
  *is_copied = 0;
  return MPI_SUCCESS;
}
}

// Of a handle that lies in memory of a caller which knows no MPI.
template <class Handle, class Memory>
Handle read_handle(const Memory& memory) noexcept {
  static_assert(sizeof(Handle) <= sizeof memory);
  Handle handle;
  std::memcpy(&handle, memory.data(), sizeof handle);
  return handle;
}
template <class Handle, class Memory>
void write_handle(const Handle& handle, Memory& memory) noexcept {
  static_assert(sizeof(Handle) <= sizeof memory);
  std::memcpy(memory.data(), &handle, sizeof handle);
}

class Messages final : public comm::rma::MessageLibrary {
 public:
  explicit Messages(const MessageHandles& handles) : handles_(handles) {}

  std::string version() const override {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> text{};
    int length = 0;
    mpi().Get_library_version(text.data(), &length);
    return text.data();
  }
  std::string why_not(int rank, int size) const override;
  void at_end(void (*call)() noexcept) override;

  bool has_channel() const noexcept override { return has_channel_; }
  State make_channel() noexcept override;
  void drop_channel() noexcept override;
  State gather(std::span<const std::byte> own, std::span<std::byte> all) noexcept override;

  bool send(std::span<const std::byte> bytes, int rank, int tag, RequestHandle& request) noexcept override {
    MPI_Request started = handles_.null_request;
    const bool is_sent = succeeds(
        mpi().Isend(bytes.data(), static_cast<int>(bytes.size()), handles_.byte, rank, tag, channel_, &started));
    write_handle(started, request.handle);
    return is_sent;
  }
  State find(Found& found) noexcept override;
  bool receive(Found& found, std::span<std::byte> into, RequestHandle& request) noexcept override {
    auto message = read_handle<MPI_Message>(found.message);
    MPI_Request started = handles_.null_request;
    const bool is_begun =
        succeeds(mpi().Imrecv(into.data(), static_cast<int>(into.size()), handles_.byte, &message, &started));
    write_handle(started, request.handle);
    return is_begun;
  }
  State test(RequestHandle& request) noexcept override {
    auto started = read_handle<MPI_Request>(request.handle);
    int has_ended = 0;
    if (!succeeds(mpi().Test(&started, &has_ended, MPI_STATUS_IGNORE))) {
      return State::failed;
    }
    write_handle(started, request.handle);
    return has_ended != 0 ? State::ended : State::under_way;
  }
  const std::string& failure() const noexcept override { return failure_; }

 private:
  bool succeeds(int code) noexcept;
  State step(MPI_Request& request) noexcept;
  bool begin_duplicate() noexcept;

  const MessageHandles handles_;
  MPI_Comm channel_{};
  bool has_channel_ = false;
  bool is_being_made_ = false;
  bool is_unwanted_ = false;  ///< The one that is being made.
  bool gathers_ = false;
  MPI_Request of_channel_{};
  MPI_Request of_gather_{};
  int key_ = 0;
  std::string failure_;
};

bool Messages::succeeds(int code) noexcept {
  if (code == MPI_SUCCESS) {
    return true;
  }
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  mpi().Error_string(code, text.data(), &length);
  failure_ = text.data();
  return false;
}

std::string Messages::why_not(int rank, int size) const {
  int initialized = 0;
  int finalized = 0;
  mpi().Initialized(&initialized);
  mpi().Finalized(&finalized);
  if (initialized == 0 || finalized != 0) {
    return finalized != 0 ? "it has been finalised"
                          : "it has not been initialised; the program calls MPI_Init_thread before the group begins";
  }
  int level = MPI_THREAD_SINGLE;
  mpi().Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) {
    return "it has been initialised without MPI_THREAD_MULTIPLE";
  }
  int own = 0;
  int all = 0;
  mpi().Comm_rank(handles_.world, &own);
  mpi().Comm_size(handles_.world, &all);
  if (own != rank || all != size) {
    return "this process is rank " + std::to_string(own) + " of " + std::to_string(all) +
           " in MPI_COMM_WORLD, and rank " + std::to_string(rank) + " of " + std::to_string(size) +
           " for its starter; the mpiexec of the MPI library that the program uses must start it";
  }
  return {};
}

void Messages::at_end(void (*call)() noexcept) {
  end_of_mpi = call;
  mpi().Comm_create_keyval(copy_no_end, tell_end, &key_, nullptr);
  mpi().Comm_set_attr(handles_.self, key_, this);
}

comm::rma::MessageLibrary::State Messages::step(MPI_Request& request) noexcept {
  int has_ended = 0;
  if (!succeeds(mpi().Test(&request, &has_ended, MPI_STATUS_IGNORE))) {
    return State::failed;
  }
  return has_ended != 0 ? State::ended : State::under_way;
}

// An error of this call is the caller's, and ends no program.
bool Messages::begin_duplicate() noexcept {
  MPI_Errhandler of_program{};
  const bool is_known = mpi().Comm_get_errhandler(handles_.world, &of_program) == MPI_SUCCESS;
  mpi().Comm_set_errhandler(handles_.world, handles_.returns);
  const bool is_begun = succeeds(mpi().Comm_idup(handles_.world, &channel_, &of_channel_));
  if (is_known) {
    mpi().Comm_set_errhandler(handles_.world, of_program);
    mpi().Errhandler_free(&of_program);
  }
  return is_begun;
}

// One that is not wanted any more is made all the same, since the others wait for that, and kept: to free it takes all ranks.
comm::rma::MessageLibrary::State Messages::make_channel() noexcept {
  if (has_channel_) {
    return State::ended;
  }
  if (!is_being_made_) {
    if (!begin_duplicate()) {
      return State::failed;
    }
    is_being_made_ = true;
    is_unwanted_ = false;
  }
  const State state = step(of_channel_);
  is_being_made_ = state == State::under_way;
  if (state != State::ended) {
    return state;
  }
  mpi().Comm_set_errhandler(channel_, handles_.returns);
  if (is_unwanted_) {
    return State::under_way;
  }
  has_channel_ = true;
  return State::ended;
}

void Messages::drop_channel() noexcept {
  has_channel_ = false;
  is_unwanted_ = is_being_made_;
}

comm::rma::MessageLibrary::State Messages::gather(std::span<const std::byte> own, std::span<std::byte> all) noexcept {
  if (!gathers_) {
    const int size = static_cast<int>(own.size());
    if (!succeeds(mpi().Iallgather(own.data(), size, handles_.byte, all.data(), size, handles_.byte, channel_,
                                   &of_gather_))) {
      return State::failed;
    }
    gathers_ = true;
  }
  const State state = step(of_gather_);
  gathers_ = state == State::under_way;
  return state;
}

comm::rma::MessageLibrary::State Messages::find(Found& found) noexcept {
  int is_there = 0;
  MPI_Message message;
  MPI_Status status;
  if (!succeeds(mpi().Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel_, &is_there, &message, &status))) {
    return State::failed;
  }
  if (is_there == 0) {
    return State::under_way;
  }
  int bytes = 0;
  mpi().Get_count(&status, handles_.byte, &bytes);
  found.rank = status.MPI_SOURCE;
  found.tag = status.MPI_TAG;
  found.bytes = static_cast<std::size_t>(bytes);
  write_handle(message, found.message);
  return State::ended;
}

}  // namespace

comm::rma::MessageLibrary* make_message_library(const MessageHandles& handles) { return new Messages(handles); }

}  // namespace dovetail::interpose::mpi
