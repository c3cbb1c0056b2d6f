// Notes what a program reads in memory that it shares with `dovetail observe`.
#pragma once

#include <cstdint>

#include "descriptors.hpp"
#include "prefetch/observation.hpp"

namespace dovetail::prefetching {

class Recorder {
 public:
  /// In memory that stays. False: it is not what it must be.
  bool start(void* memory, std::uint64_t bytes) noexcept;
  bool on() const noexcept { return header_ != nullptr; }
  /// What is noted is for a trace, beside a plan, rules or detection: of the files that these are about, and each read by itself.
  void trace() noexcept { traces_ = true; }
  bool traces() const noexcept { return traces_; }
  /// The first look at a descriptor. Returns its state.
  std::uint32_t begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept;
  void note(Descriptor& descriptor, Observation::Kind kind, std::uint64_t offset, std::uint64_t bytes,
            std::uint64_t begun, std::uint64_t ended) noexcept;

 private:
  Observation::Slot* take(std::uint64_t count, std::uint64_t& number) noexcept;
  bool join(Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes, std::uint64_t begun,
            std::uint64_t ended) noexcept;

  Observation::Header* header_ = nullptr;
  Observation::Slot* slots_ = nullptr;
  std::uint64_t count_ = 0;
  bool traces_ = false;
};
extern constinit Recorder recorder;

std::uint64_t nanoseconds() noexcept;

}  // namespace dovetail::prefetching
