// Gives the system advice by the rules of a configuration.
#pragma once

#include <cstdint>

#include "descriptors.hpp"
#include "prefetch/advice_table.hpp"

namespace dovetail::prefetching {

class Guide {
 public:
  /// In memory that stays. False: there is no table in it, or advice cannot be given here.
  bool start(std::byte* memory, std::uint64_t bytes) noexcept;
  bool on() const noexcept { return table_.files() != 0; }
  bool timed() const noexcept { return timed_; }
  /// Whether a rule may be about this file. One request brings in all of a small one.
  bool wants(const FileIdentity& identity) const noexcept { return on() && identity.size > AdviceTable::smallest_file; }
  /// The first look at a descriptor. Returns its state.
  std::uint32_t begin(int number, Descriptor& descriptor, const FileIdentity& identity) noexcept;
  /// The program has read there. `took`: how long the read took, in nanoseconds; 0 where reads are not timed.
  void note(int number, Descriptor& descriptor, std::uint64_t offset, std::uint64_t bytes, std::uint64_t took) noexcept;

 private:
  static constexpr std::size_t longest_name = 256;

  void advise(int number, std::uint32_t state, AdvisedFile& file, std::uint64_t block_bytes) noexcept;

  AdviceTable table_;
  bool timed_ = false;
  // Of the program: what the system calls it, which of a script is the script's name, and the file that runs.
  char name_[16] = {};
  char program_[longest_name] = {};
};
extern constinit Guide guide;

}  // namespace dovetail::prefetching
