// Gives the system advice without a plan, for files whose reads show a pattern.
#pragma once

#include <cstdint>

#include "descriptors.hpp"
#include "prefetch/detection_table.hpp"

namespace dovetail::prefetching {

class Predictor {
 public:
  /// In memory that stays. False: there is no table in it, or advice cannot be given here.
  bool start(std::byte* memory, std::uint64_t bytes) noexcept;
  bool on() const noexcept { return table_.files() != 0; }
  bool timed() const noexcept { return timed_; }
  /// This process is another one from now on.
  void forked() noexcept;
  /// The program has opened a file to read it, by this path from that folder (as `openat`).
  void opened(const char* path, int folder) const noexcept;
  /// The first look at a descriptor. Returns its state.
  std::uint32_t begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept;
  /// The program has read there. `took`: how long the read took, in nanoseconds; 0 where reads are not timed.
  void note(int number, Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes, std::uint64_t took) noexcept;

 private:
  struct Rests {
    bool detector;
    bool repetition;
  };
  void tell(int number, Descriptor& descriptor, DetectedFile& file, const Range& read, const Rests& rests) noexcept;

  DetectionTable table_;
  bool timed_ = false;
  std::int32_t process_ = 0;
};
extern constinit Predictor predictor;

}  // namespace dovetail::prefetching
