// A plan as a program has it in memory: which parts of which files it will need, in which order. `dovetail run --plan` writes it
// (python/dovetail/replay.py), and it is read in programs that have nothing to do with Dovetail: no parser, no allocation, no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefetch/waiting.hpp"

namespace dovetail::prefetching {

/// A run of pages that the program needs. Those of one file never overlap.
struct Extent {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t before;  // bytes of all extents of the file that are needed earlier

  std::uint64_t end() const noexcept { return offset + bytes; }
};

/// Why a file is left to the system. As in python/dovetail/plan_report.py.
enum GivenUp : std::uint32_t { not_given_up = 0, does_not_fit = 1, all_is_cached = 2, cannot_be_opened = 3 };

/// Where the program is, and what the plan did. All processes that follow the plan share it.
struct Progress {
  std::atomic<std::uint32_t> cursor;    // the extent that is needed next
  std::atomic<std::uint32_t> issued;    // the first one that the system was not asked for; or `perhaps_again`
  std::atomic<std::int32_t> strayed;    // reads that the plan did not foretell, less those that it did
  std::atomic<std::uint32_t> given_up;  // a `GivenUp`
  // For the report at the end.
  std::atomic<std::uint64_t> asked;       // bytes that the system was asked to read
  std::atomic<std::uint64_t> unforeseen;  // reads that the plan did not foretell
  ReadCounts counts;                      // only of a plan whose reads are timed
  // Of `asked`, what was asked for before the program began the plan again, and at least 1 then. 0: it is in its first pass.
  std::atomic<std::uint64_t> asked_before;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// The plan of one file. A copy: what lies in the shared memory may change under a reader, these numbers do not.
struct FilePlan {
  const Extent* extents = nullptr;               // in the order of need
  const std::uint32_t* by_offset = nullptr;      // their numbers, in the order of the file
  std::atomic<std::uint8_t>* come_to = nullptr;  // by number: whether the program has read of it
  Progress* progress = nullptr;
  std::uint32_t count = 0;
  std::uint32_t piece = 0;   // bytes of one advice: the kernel cuts longer ones short
  std::uint32_t gap = 0;     // bytes that are read rather than left out, since another request would take longer
  std::uint64_t size = 0;    // of the file
  std::uint64_t window = 0;  // bytes ahead of the program at most

  /// The number of an extent by its place in the file. The shared memory is not trusted.
  std::uint32_t number(std::uint32_t place) const noexcept {
    const std::uint32_t found = by_offset[place];
    return found < count ? found : count - 1;
  }
};

/// What tells one version of a file from all others.
struct FileIdentity {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t size;
  std::uint64_t seconds;  // of the last change
  std::uint64_t nanoseconds;
};

class Plan {
 public:
  static constexpr std::uint64_t magic = 0x33304e414c505444;  // "DTPLAN03"

  /// The memory of a plan, readable and writable, as long as the plan is used. An unusable one gives an empty plan.
  static Plan in(std::byte* memory, std::uint64_t bytes) noexcept;
  std::uint32_t files() const noexcept { return files_; }
  /// Whether the report wants to know how long reads take.
  bool timed() const noexcept { return timed_; }
  /// The number of the file; `files()`: the plan has nothing to say about it, or about another version of it.
  std::uint32_t find(const FileIdentity& identity) const noexcept;
  /// Of a number below `files()`.
  FilePlan file(std::uint32_t number) const noexcept;

 private:
  struct Header {
    std::uint64_t magic;
    std::uint64_t bytes;
    std::uint64_t files;
    std::uint64_t extents;
    std::uint64_t timed;
    // How much of their windows holds now, of 256 parts: `dovetail` takes it back while memory is short. 0: all.
    std::atomic<std::uint64_t> part_of_windows;
    std::uint64_t reserved[2];
  };
  struct Entry {  // in the order of device and inode
    FileIdentity identity;
    std::uint64_t first;
    std::uint32_t count;
    std::uint32_t piece;
    std::uint32_t gap;
    std::uint32_t window;  // in units of 4 KiB
  };
  static_assert(sizeof(Header) == 64 && sizeof(Entry) == 64 && sizeof(Extent) == 24 && sizeof(Progress) == 64);

  const Header* header_ = nullptr;
  const Entry* entries_ = nullptr;
  const Extent* extents_ = nullptr;
  Progress* progress_ = nullptr;
  const std::uint32_t* by_offset_ = nullptr;
  std::atomic<std::uint8_t>* come_to_ = nullptr;
  std::uint32_t files_ = 0;
  std::uint64_t all_extents_ = 0;
  bool timed_ = false;
};

}  // namespace dovetail::prefetching
