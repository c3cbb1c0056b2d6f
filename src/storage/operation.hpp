// The operations as the faces of the library use them: each chooses between pausing the task, binding to it, and a plain
// system call, by where it is called from. Errors are values here.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "storage/open_file.hpp"
#include "storage/request.hpp"

namespace dovetail::storage {

/// What became of an operation.
struct Outcome {
  std::uint64_t bytes = 0;   ///< Transferred. open: the descriptor.
  int error = 0;             ///< errno, or 0.
  std::uint64_t offset = 0;  ///< With an error: the first byte that was not transferred,
  std::uint64_t left = 0;    ///< and how many there are from it.
  Kind kind = Kind::nop;     ///< What failed: of a durable write, the write or the sync.
};

/// An operation that is asked for. `data` or `vectors` belong to the program.
struct Operation {
  Kind kind = Kind::nop;
  std::byte* data = nullptr;         ///< read, write
  std::span<const iovec> vectors{};  ///< readv, writev
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  ///< Bytes. readv, writev: set by `total_length`.
  int mode = 0;              ///< fallocate
  bool durable = false;      ///< write: followed by `fdatasync`.
};

/// Whether a wait of the caller pauses a task, and operations of it go through the engines.
bool can_pause() noexcept;

/// Performs the operation and returns when it has ended. May suspend.
Outcome perform(OpenFile& file, const Operation& operation);
/// Starts the operation and binds its end to the current task, which fails if it does. In places without engines it is
/// performed at once. Does not suspend. Without a task, an error is thrown. @throws IoError, std::bad_alloc.
void bind(OpenFile& file, const Operation& operation, std::size_t* transferred);

/// Opens `path`; the descriptor is in `bytes`. May suspend.
Outcome open_descriptor(const char* path, int flags, unsigned mode);

/// Pauses the task for a request that does nothing, to measure what a request costs. Outside of a task: nothing.
void nop();

/// Sum of the lengths. Saturates.
std::uint64_t total_length(std::span<const iovec> vectors) noexcept;

}  // namespace dovetail::storage
