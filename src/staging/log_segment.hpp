// One file of the log, which only grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/descriptor.hpp"
#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/log_folder.hpp"
#include "staging/log_place.hpp"
#include "staging/log_record.hpp"

namespace dovetail::staging {

/// Reads may come from any thread. One thread at a time does anything else.
class LogSegment {
 public:
  struct Opened {
    std::shared_ptr<LogSegment> segment;
    FileFailure failure;
  };
  /// Makes the file, which must not exist. A file that was made and whose header could not be written is removed.
  static Opened create(FileCalls& calls, const LogFolder& folder, const SegmentHeader& header, LogIdentity log);
  /// For reading, and to be made durable.
  static Opened open(FileCalls& calls, const LogFolder& folder, std::uint32_t number);

  LogSegment(FileCalls& calls, std::string path, base::Descriptor descriptor, std::uint32_t number, std::uint64_t bytes)
      : calls_(calls), path_(std::move(path)), descriptor_(std::move(descriptor)), number_(number), bytes_(bytes) {}

  /// Behind all others. What was written of it is cut off if the rest cannot be.
  FileFailure append(const EncodedHeader& header, std::span<const std::byte> data);
  /// Whether another record may be appended: false after half a record that could not be cut off.
  bool is_whole() const noexcept { return whole_; }
  FileFailure read(std::uint64_t position, std::span<std::byte> target) const;
  /// Reads bytes of the file that were put at `place` and behind it.
  FileFailure read(LogPlace place, std::span<std::byte> target) const;
  FileFailure sync() const;

  int descriptor() const noexcept { return descriptor_.get(); }
  const std::string& path() const noexcept { return path_; }
  std::uint32_t number() const noexcept { return number_; }
  /// Header and records.
  std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  FileCalls& calls_;
  const std::string path_;
  const base::Descriptor descriptor_;
  const std::uint32_t number_;
  std::uint64_t bytes_;
  bool whole_ = true;
};

}  // namespace dovetail::staging
