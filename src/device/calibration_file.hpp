// The file that a measurement transfers: without a name, so that nothing is left however the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dovetail::device {

/// Owns the descriptor. Not thread-safe.
class CalibrationFile {
 public:
  /// @param path A folder, or a file whose folder is meant.
  /// @throws std::system_error when there is no such folder or no file can be made in it.
  CalibrationFile(const std::string& path, bool direct);
  ~CalibrationFile();
  CalibrationFile(const CalibrationFile&) = delete;
  CalibrationFile& operator=(const CalibrationFile&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  /// For messages.
  const std::string& name() const noexcept { return name_; }
  /// Reserves space for `wanted` bytes, or for fewer, down to `least`, where there is less. @returns bytes reserved.
  /// @throws std::system_error with ENOSPC, EDQUOT or what else the file system said.
  std::uint64_t reserve(std::uint64_t wanted, std::uint64_t least);
  /// @throws std::system_error
  void truncate(std::uint64_t size);
  void sync();
  /// Has the page cache forget what it holds of the file, so that reads go to the device.
  void forget() const noexcept;

 private:
  std::string name_;
  int descriptor_ = -1;
};

/// Memory for transfers: page aligned, filled with bytes that cannot be compressed.
class TransferMemory {
 public:
  /// @throws std::bad_alloc
  explicit TransferMemory(std::size_t size);
  ~TransferMemory();
  TransferMemory(const TransferMemory&) = delete;
  TransferMemory& operator=(const TransferMemory&) = delete;
  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_;
  std::size_t size_;
};

}  // namespace dovetail::device
