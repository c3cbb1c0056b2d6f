// Gives the system advice from a plan, ahead of the program.
#pragma once

#include <cstdint>

#include "descriptors.hpp"

namespace dovetail::prefetching {

class Replayer {
 public:
  /// In memory that stays. False: there is no plan in it, or advice cannot be given here.
  bool start(std::byte* memory, std::uint64_t bytes) noexcept;
  bool on() const noexcept { return plan_.files() != 0; }
  /// The first look at a descriptor. Returns its state.
  std::uint32_t begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept;
  /// Has advice given if it is due.
  void go_on(int number, std::uint32_t state) noexcept;
  /// Whether it wants to know how long reads take.
  bool timed() const noexcept { return plan_.timed(); }
  /// Whether the plan has this file.
  bool knows(const FileIdentity& identity) const noexcept { return plan_.find(identity) != plan_.files(); }
  /// The program has read, in a call of so many nanoseconds (0: not known).
  void note(int number, Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes, std::uint64_t took) noexcept;

 private:
  Plan plan_;
};
extern constinit Replayer replayer;

}  // namespace dovetail::prefetching
