// What one-sided communication needs of a library that reaches other nodes by messages. Implemented for MPI once for each application binary interface
// (interpose/mpi/abi), by GASPI (gaspi_messages), and by a library of the tests.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace dovetail::comm::rma {

/// Of an MPI library with `MPI_THREAD_MULTIPLE`, or of GASPI. Errors are returned. Nothing blocks. Messages lie in a channel of their own, for MPI a duplicate
/// of `MPI_COMM_WORLD`, which is made once and kept until the library ends.
class MessageLibrary {
 public:
  /// A handle as it lies in memory.
  struct RequestHandle {
    alignas(8) std::array<std::byte, 8> handle{};
  };
  /// A message that has come. `receive` takes it.
  struct Found {
    alignas(8) std::array<std::byte, 8> message{};
    int rank = 0;
    int tag = 0;
    std::size_t bytes = 0;
  };
  enum class State : std::uint8_t { under_way, ended, failed };

  virtual ~MessageLibrary() = default;

  /// What it says of itself. Any thread.
  virtual std::string version() const = 0;
  /// What keeps this process from using it as this rank of so many, as a sentence; empty: nothing. Any thread.
  virtual std::string why_not(int rank, int size) const = 0;
  /// It calls `call` when MPI_Finalize begins, once, from that thread; MPI works until it returns. Any thread.
  virtual void at_end(void (*call)() noexcept) = 0;

  /// @name The channel
  /// One thread at a time calls these.
  /// @{
  virtual bool has_channel() const noexcept = 0;
  /// What makes it, for users.
  virtual const char* channel() const noexcept { return "MPI_Comm_idup of MPI_COMM_WORLD"; }
  /// By all ranks. Begins to make it, unless that has begun; called again and again until it has ended or failed.
  virtual State make_channel() noexcept = 0;
  /// It is of no use, since some rank has none. Also where it is being made.
  virtual void drop_channel() noexcept = 0;
  /// By all ranks, which have the channel: the bytes of each, one behind the other. Called again and again, with the same arguments, until it has
  /// ended or failed.
  virtual State gather(std::span<const std::byte> own, std::span<std::byte> all) noexcept = 0;
  /// @}

  /// @name Messages in the channel
  /// Bytes stay where they are until the request has ended, or failed. `failure` says why what returned false, or `failed`, did.
  /// One thread at a time calls these.
  /// @{
  virtual bool send(std::span<const std::byte> bytes, int rank, int tag, RequestHandle& request) noexcept = 0;
  /// Any message. `ended`: there is one.
  virtual State find(Found& found) noexcept = 0;
  virtual bool receive(Found& found, std::span<std::byte> into, RequestHandle& request) noexcept = 0;
  virtual State test(RequestHandle& request) noexcept = 0;
  virtual const std::string& failure() const noexcept = 0;
  /// @}

  /// Of a tag: from 0.
  static constexpr int most_tag = 32767;
};

/// Makes that of the process known: it lives for ever. By what has loaded it, or a test.
void set_message_library(MessageLibrary* library) noexcept;
/// Loads it, if the process has an MPI library. @throws std::runtime_error, with what keeps this process from using it as this rank of so many
MessageLibrary& require_message_library(int rank, int size);

/// Whether the user wants nothing else: DOVETAIL_FABRIC is "mpi".
bool is_message_library_wanted();
/// Calls `step` until that has ended. @throws std::runtime_error with `what` if it fails, or has not ended within `limit`; tasking::WaitInterrupted
void finish_in_time(const std::function<MessageLibrary::State()>& step, std::chrono::milliseconds limit,
                    const std::string& what);

/// "MPI (MPICH 4.0.2)", "GASPI (GPI-2 1.6)", of what a library says of itself.
std::string name_of_message_library(const std::string& version);

}  // namespace dovetail::comm::rma
