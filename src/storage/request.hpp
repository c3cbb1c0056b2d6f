// One operation on a file while it is under way. An engine performs an attempt: a piece of the request that one system call can
// do. A request takes as many attempts as it needs.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "base/urgency.hpp"
#include "device/request_level.hpp"
#include "dovetail/detail/body.hpp"
#include "storage/kind.hpp"
#include "tasking/service.hpp"

namespace dovetail::device {
class Device;
}

namespace dovetail::storage {

using base::Urgency;
using device::Device;

class OpenFile;
class RequestAdaptor;
class Dispatcher;

/// The queues of a device: one for each kind of request (device::RequestKind), and one for what transfers nothing.
enum Lane : std::uint8_t { metadata = device::request_kinds, lanes };
/// `direct`: past the page cache.
std::uint8_t lane_of(Kind kind, bool direct, std::uint64_t bytes) noexcept;

/// Lives on the stack of the task that waits for it, or in the pool of bound requests. Owned by the task that started it, but
/// touched only by the engine between `Engine::submit` and `attempt_ended`.
struct Request {
  Request* next = nullptr;                             ///< In the queue that the request waits in.
  tasking::BlockingWork work;                          ///< For engines that perform it on an executor.
  void (*ended)(Request& request) noexcept = nullptr;  ///< Called once, by any thread, when nothing is left to do.
  Dispatcher* dispatcher = nullptr;
  OpenFile* file = nullptr;      ///< Null for `nop` and `open`.
  detail::Task* task = nullptr;  ///< The one that is paused for it, or that it is bound to.
  union {
    std::byte* data = nullptr;  ///< read, write: what is left of the buffer.
    const iovec* vectors;       ///< readv, writev: the first buffer that is not done.
    const char* path;           ///< open
    std::uint64_t length;       ///< fallocate
  };
  std::uint64_t remaining = 0;              ///< Bytes that have not been transferred.
  std::uint64_t offset = 0;                 ///< In the file, of the next attempt. open: permissions.
  std::uint64_t transferred = 0;            ///< Bytes so far. open: the descriptor.
  std::uint64_t within_vector = 0;          ///< Bytes done of the first buffer that is not done.
  const RequestAdaptor* adaptor = nullptr;  ///< Plans the attempts; null: they transfer what is left, as it is.
  Device* device = nullptr;                 ///< Whose queue it is counted in.
  std::uint32_t attempt = 0;                ///< Bytes (or whole buffers) that the next attempt asks for.
  int descriptor = -1;
  int error = 0;  ///< errno, once it has failed.
  Kind kind = Kind::nop;
  std::uint8_t lane = 0;  ///< Which queue of its device it is counted in.
  Urgency urgency = Urgency::program;
  bool off_core = false;          ///< Copying it would keep a core busy for long: an executor is to do that.
  bool on_threads = false;        ///< Its attempts are made by executors rather than by a ring.
  bool waits = false;             ///< The next attempt is no transfer: it waits until a stream can be read or written.
  bool durable = false;           ///< A write that is to be followed by an `fdatasync` before it has ended.
  bool cancellable = false;       ///< Its task was not cancelled when it began: if that happens, it is given up.
  std::uint8_t interruption = 0;  ///< The number of the cancellation by which it was interrupted last.
  std::uint8_t halves = 0;        ///< How many of two attempts that were handed over together have ended.
  union {
    int mode = 0;  ///< fallocate: mode of that call. open: flags.
    int written;   ///< Of a write and an `fdatasync` that were handed over together: what the first gave,
  };
  int synced = 0;  ///< and the second; afterwards: its failure, if there was one.
};
static_assert(sizeof(Request) <= 144, "a request lies on the stacks of tasks and in a pool");

/// What one attempt asks of the system.
struct Attempt {
  Kind kind;
  void* address;         ///< Of the bytes, or of the iovecs.
  std::uint32_t length;  ///< Bytes, or iovecs. poll: the events.
  std::uint64_t offset;
};
/// The offset of a transfer from or to a stream.
inline constexpr std::uint64_t no_offset = ~std::uint64_t{0};

/// What plans the attempts of a request whose descriptor does not take every transfer: a direct file's (direct_request.hpp).
/// Stateless: what belongs to one request is in the request.
class RequestAdaptor {
 public:
  /// As `plan_attempt`, of a request with something left.
  virtual void plan(Request& request) const noexcept = 0;
  /// As `attempt_of`, of a transfer.
  virtual Attempt attempt(const Request& request) const noexcept = 0;
  /// An attempt moved so many bytes, which the request has not counted yet. Returns whether the file ends behind them.
  virtual bool moved(const Request& request, std::uint64_t bytes) const noexcept = 0;

 protected:
  ~RequestAdaptor() = default;
};

/// Sets up the next attempt: how much of the rest one system call may do.
void plan_attempt(Request& request) noexcept;
/// The attempt that `plan_attempt` set up.
Attempt attempt_of(const Request& request) noexcept;
/// Takes the result of an attempt (bytes, or a negative errno) into account. Returns whether another attempt is needed, and
/// if so has planned it.
bool attempt_done(Request& request, std::int64_t result) noexcept;

/// @name For adaptors
/// Both, for a transfer of which an attempt may ask for `most` bytes of what is left.
/// @{
void plan_up_to(Request& request, std::uint64_t most) noexcept;
Attempt attempt_up_to(const Request& request, std::uint64_t most) noexcept;
/// @}

/// Whether its task was cancelled after it began. While the request has not ended.
bool given_up(const Request& request) noexcept;

using RequestQueue = base::Fifo<Request>;

}  // namespace dovetail::storage
