// The files whose reads are watched for patterns, in memory that all processes of one `dovetail run --detect` share
// (python/dovetail/detect.py makes it). Read and written in programs that have nothing to do with Dovetail: no allocation, no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefetch/detector.hpp"
#include "prefetch/detector_repetition.hpp"
#include "prefetch/file_table.hpp"
#include "prefetch/open_log.hpp"

namespace dovetail::prefetching {

/// One file. `python/dovetail/detect.py` reads what is in front of the detector, and its counts.
struct alignas(4096) DetectedFile : FileEntry {
  std::atomic<std::uint64_t> outstanding;  // as it is counted for all files
  std::atomic<std::uint64_t> turn;         // when it was last read
  Detector detector;
  Repetition repetition;

  /// Notes a read. `resting`: the detector said to this reader that there was no pattern. `repetition_rests`: what `repetition.rests()` has said of
  /// this read; false if it was not asked.
  Detector::Noted note(std::uint64_t offset, std::uint64_t bytes, const Detector::Limits& limits, bool resting,
                       bool repetition_rests = false) noexcept;
  bool has_advice() const noexcept { return detector.has_advice() || repetition.has_advice(); }
};
static_assert(sizeof(DetectedFile) == 30 * 4096);

class DetectionTable {
 public:
  static constexpr std::uint64_t magic = 0x3130544345544544;  // "DETECT01"
  static constexpr std::uint64_t smallest_file = 1U << 20;

  /// The memory of a table, readable and writable, at the beginning of a page, as long as the table is used. An unusable one gives an empty table.
  static DetectionTable in(std::byte* memory, std::uint64_t bytes) noexcept;
  std::uint32_t files() const noexcept { return files_; }
  /// The number of the file, which gets a place in the table if it has none (`made`: now). What was known of another version of it is forgotten. `files()`: it is too small, is not on a device, or the table is full.
  std::uint32_t find(const FileIdentity& identity, bool& made) noexcept;
  /// Of a number below `files()`.
  DetectedFile& file(std::uint32_t number) const noexcept { return table_[number]; }

  /// Whether the report wants to know how long reads take.
  bool timed() const noexcept { return header_ != nullptr && header_->timed != 0; }
  /// What programs have opened. Of a table that is not empty.
  OpenLog& opens() const noexcept { return *opens_; }

  /// What the file may ask for, beside what other files have asked for.
  Detector::Limits limits(const DetectedFile& file) const noexcept;
  /// After each read: counts what the file has asked for and was not read yet.
  void count_outstanding(DetectedFile& file) const noexcept;

 private:
  struct alignas(4096) Header {
    std::uint64_t magic;
    std::uint64_t bytes;
    std::uint64_t files;
    std::atomic<std::uint64_t> window;  // `dovetail` changes it while memory is short
    std::uint64_t timed;
    std::atomic<std::uint64_t> outstanding;  // of all files, in bytes
    std::atomic<std::uint64_t> turns;
    std::atomic<std::uint64_t> released;  // the turn in which what was old was last looked for
    DeviceList devices;
  };
  static_assert(sizeof(Header) == 4096 && offsetof(Header, devices) == 64);

  void release_old() const noexcept;

  Header* header_ = nullptr;
  DetectedFile* table_ = nullptr;
  OpenLog* opens_ = nullptr;  // behind the files
  std::uint32_t files_ = 0;
};

}  // namespace dovetail::prefetching
