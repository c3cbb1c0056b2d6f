// What is asked of a file, what became of it, and the request that does it with one descriptor. Errors are values here.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>

#include "storage/open_file.hpp"
#include "storage/request.hpp"
#include "storage/storage_service.hpp"

namespace dovetail::storage {

/// Bytes that a core may copy by itself: it takes well under 50 microseconds.
inline constexpr std::uint64_t most_inline = 128 * 1024;

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

/// Fills in the request that does the whole operation with one descriptor, but for what happens at its end.
void set_up(Request& request, OpenFile& file, const Operation& operation) noexcept;
/// Runs a request to its end while the current task is paused. May suspend.
void run_paused(Request& request, Device* device, const StorageService::Here& here);
Outcome outcome_of(const Request& request, const Operation& operation) noexcept;
/// The failure of an operation as the program sees it.
std::exception_ptr failure_of(const OpenFile& file, const Outcome& outcome) noexcept;

/// Sum of the lengths. Saturates.
std::uint64_t total_length(std::span<const iovec> vectors) noexcept;

}  // namespace dovetail::storage
