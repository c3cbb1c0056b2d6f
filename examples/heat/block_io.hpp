/// @file
/// The one place where the three variants differ: how a task asks for a transfer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dovetail/file.hpp"
#include "meter.hpp"
#include "options.hpp"

namespace heat {

/// Performs the I/O of tasks, and meters it. To be called from inside tasks. A transfer has ended when the task that asked for it has completed. A
/// task that depends on that one then calls `ended`, with the same byte count.
/// Failures are `dovetail::IoError`, thrown or (bound) given to the task.
class BlockIo {
 public:
  BlockIo(IoKind kind, Meter& meter) noexcept : kind_(kind), meter_(meter) {}

  /// Writes all of `data`, which must stay valid and unchanged until the task has completed. May suspend.
  void write(const dovetail::File& file, std::span<const std::byte> data, std::uint64_t offset) const;
  /// Reads until `data` is full or the file ends. May suspend.
  void read(const dovetail::File& file, std::span<std::byte> data, std::uint64_t offset) const;
  /// Makes durable what was written before. May suspend.
  void sync(const dovetail::File& file) const;
  /// Reserves space, where the file system knows how to. May suspend.
  void reserve(const dovetail::File& file, std::uint64_t bytes) const;
  /// To be called by a task that depends on the one that wrote (`written` bytes), read or synced (0).
  void ended(std::uint64_t written) const;

 private:
  IoKind kind_;
  Meter& meter_;
};

}  // namespace heat
