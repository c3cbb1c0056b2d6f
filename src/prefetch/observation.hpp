// What a program leaves behind of its reads, when it is observed or traced: a file in memory that all its processes map (python/dovetail/observe.py reads it).
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::prefetching {

struct Observation {
  static constexpr std::uint64_t magic = 0x3253444145525444;  // "DTREADS2"
  enum class Kind : std::uint16_t {
    nothing,  // not written (yet)
    read,     // bytes that a call has read
    file,     // the first look at a descriptor: size and time of change, and in the slots behind it the path
    map,      // bytes that were mapped
    asked,    // bytes that the system was asked to read ahead; only of a run that is traced
  };
  struct Header {
    std::uint64_t magic;
    std::uint64_t slots;
    std::atomic<std::uint64_t> used;       // may be more than there are: what came then is lost
    std::atomic<std::uint64_t> processes;  // that the library was loaded into
    std::uint64_t reserved[4];
  };
  struct Slot {
    std::uint64_t begun;  // nanoseconds of the monotonic clock
    std::atomic<std::uint64_t> ended;
    std::uint64_t device;
    std::uint64_t inode;
    std::uint64_t offset;              // file: nanoseconds of the last change, since 1970
    std::atomic<std::uint64_t> bytes;  // file: its size
    // Nanoseconds of reads that were slower than memory (waiting.hpp), of all reads that the slot joins, and not of what lies between them. Of what the
    // kernel tells it is 0: that does not show a wait for a page that is on its way already.
    std::atomic<std::uint64_t> waited;
    std::uint32_t process;
    std::uint16_t more;  // slots behind this one that belong to it
    std::atomic<Kind> kind;
  };
  static_assert(sizeof(Header) == 64 && sizeof(Slot) == 64);
};

}  // namespace dovetail::prefetching
