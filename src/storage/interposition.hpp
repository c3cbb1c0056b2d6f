// What `libdovetail-posix.so` and this library know of each other. The one that is interposed comes into programs that
// have nothing to do with tasks, so it depends on nothing; this library finds it, if it is there, and not the other way round.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace dovetail::storage {

/// Which call it is, as far as the way of performing it depends on that.
enum class CallKind : std::uint8_t { read, write, pread, pwrite, sync };

/// A call as the program made it.
struct Call {
  /// Makes the call of the C library, on whichever thread. Returns its result, or a negative errno.
  std::int64_t (*libc)(const Call& call) noexcept;
  CallKind kind;   ///< `read` and `write` use the file position; `sync` is fsync or fdatasync.
  bool vectors;    ///< `address` is an array of iovec.
  bool data_only;  ///< fdatasync
  int descriptor;
  int flags;  ///< RWF_
  void* address;
  std::size_t count;  ///< Bytes, or iovecs.
  off_t offset;
};

/// What this library does for the one that is interposed.
struct Interposition {
  unsigned version;
  /// Whether the caller is in a task on a compute worker. A few nanoseconds; changes nothing, also in the child of a vfork.
  bool (*in_task)() noexcept;
  /// Performs the call as the C library does, and pauses the task for it if it may have to wait. Returns its result, or a
  /// negative errno. Only if `in_task`.
  std::int64_t (*perform)(const Call& call);
};
inline constexpr unsigned interposition_version = 1;

}  // namespace dovetail::storage

/// Defined by the library that is interposed, called once when this library is loaded.
extern "C" void dovetail_posix_attach(const dovetail::storage::Interposition* interposition) noexcept;
