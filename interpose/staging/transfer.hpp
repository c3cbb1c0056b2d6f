// Reads and writes of descriptors that lead to staged files.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "descriptors.hpp"

namespace dovetail::interpose::staged {

/// What a call that moves data is about. Its functions return bytes, or -1 with errno; nothing: the call is the system's.
class Transfer {
 public:
  static constexpr off64_t here = -1;  ///< At the file position, which moves.

  /// `offset`: `here`, or where. `flags`: as of preadv2.
  Transfer(int descriptor, off64_t offset, int flags = 0) noexcept;
  bool is_of_interest() const noexcept { return description_ != nullptr; }
  /// @return whether the call was made, and has given `result`
  bool read(std::span<const iovec> parts, ssize_t& result) noexcept;
  bool write(std::span<const iovec> parts, ssize_t& result) noexcept;

 private:
  bool has_known_flags() noexcept;
  ssize_t read_parts(std::span<const iovec> parts) noexcept;
  ssize_t write_parts(std::span<const iovec> parts) noexcept;
  ssize_t put(std::span<const std::byte> data, bool appends) noexcept;

  int descriptor_;
  off64_t offset_;
  int flags_;
  DescriptionInUse description_;
  ProgramFile::Use use_;  // until the call is made, also if the system makes it
};

}  // namespace dovetail::interpose::staged
