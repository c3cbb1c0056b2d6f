// The problem: records are appended to several logs. A record must be on the disk before the next one of its log is written. An operation is a
// record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

class Logs {
 public:
  explicit Logs(CommandLine& line);
  ~Logs();
  Logs(const Logs&) = delete;
  Logs& operator=(const Logs&) = delete;

  /// Before each run: the logs exist and are empty. Ends the program with 2 where that is not possible.
  void prepare();

  std::int64_t logs() const noexcept { return logs_; }
  std::int64_t records() const noexcept { return records_; }  ///< Of each log.
  std::int64_t operations() const noexcept { return logs_ * records_; }
  std::uint64_t offset(std::int64_t record) const noexcept { return static_cast<std::uint64_t>(record * bytes_); }
  int descriptor(std::int64_t log) const noexcept { return descriptors_[static_cast<std::size_t>(log)]; }
  /// The bytes of a record, in the buffer of its log.
  std::span<const std::byte> record(std::int64_t log, std::int64_t number) noexcept;
  /// After each run: the files hold all records.
  std::string what_is_wrong() const;

 private:
  void close_all();

  const std::int64_t& logs_;
  const std::int64_t& records_;
  const std::int64_t& bytes_;
  std::vector<int> descriptors_;
  std::vector<std::vector<std::byte>> buffers_;
};

}  // namespace bench
