// What is known of each descriptor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefetch/plan.hpp"
#include "prefetch/told_reads.hpp"
#include "prefetch/trust.hpp"

namespace dovetail::prefetching {

struct Descriptor {
  static constexpr std::uint32_t unknown = 0;
  static constexpr std::uint32_t ignored = 1;
  static constexpr std::uint32_t first_file = 2;
  static constexpr std::uint32_t first_guided = 0x20000000;
  static constexpr std::uint32_t first_detected = 0x40000000;
  static constexpr std::uint32_t fresh = 0x80000000;

  // From `first_file` on: the number of the file, in a plan; from `first_guided` on: in the table of a configuration; from `first_detected` on: in the table of detection; from `fresh` on: reads
  // before a look is worth its while.
  std::atomic<std::uint32_t> state;
  // The system reads ahead as it likes: no plan, or it was given up. 0: it was told not to; 1: it does; 2: not known.
  std::atomic<std::uint32_t> left_alone;
  // What a recorder knows.
  std::atomic<std::uint64_t> device;
  std::atomic<std::uint64_t> inode;
  std::atomic<std::uint64_t> last;  // the slot of the last read, and one more
  // Where the stream of the C library has read to; 0: not known. One more than the offset.
  std::atomic<std::uint64_t> stream;

  bool is_detected() const noexcept {
    const std::uint32_t now = state.load(std::memory_order_relaxed);
    return now >= first_detected && now < fresh;
  }
  bool is_guided() const noexcept {
    const std::uint32_t now = state.load(std::memory_order_relaxed);
    return now >= first_guided && now < first_detected;
  }
};

/// What detection knows of one whose state says that it is detected.
struct Detection {
  std::atomic<std::uint64_t> position;  // where `read` goes on; 0: not known. One more than the offset
  ToldReads reads;
  Trust trust;
};

/// What the guide knows of one whose state says that it is guided.
struct Guidance {
  std::atomic<std::uint64_t>
      from;  // reads from here to `to` change nothing: they are in the same block, or a part without blocks
  std::atomic<std::uint64_t> to;
  std::atomic<std::uint32_t> rule;
  std::atomic<std::int32_t> advice;  // what the system was told of the descriptor last; -1: not known
};

/// Descriptors above are not looked at.
inline constexpr int most_descriptors = 65536;
/// The memory is the system's until it is used: zero, which is `unknown`.
extern constinit Descriptor descriptors[most_descriptors];
/// By the same numbers. An array of its own, since compilers evaluate only so much at a time.
extern constinit Detection detections[most_descriptors];
extern constinit Guidance guidances[most_descriptors];
/// Whether the library does anything at all in this process.
extern constinit std::atomic<bool> active;

/// A regular file that has bytes. False: it is something else.
bool identify(int descriptor, FileIdentity& identity) noexcept;
/// Whether a descriptor of a regular file reads it through the page cache.
bool reads_pages(int descriptor) noexcept;
/// Both.
inline bool look_at(int descriptor, FileIdentity& identity) noexcept {
  return identify(descriptor, identity) && reads_pages(descriptor);
}
/// The path of its file, as /proc has it. Returns its length; 0: it has none, or a longer one.
std::size_t name_of(int descriptor, char* path, std::size_t room) noexcept;
/// It will lead to something else, or does already.
inline void forget(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) < most_descriptors &&
      descriptors[descriptor].state.load(std::memory_order_relaxed) != Descriptor::unknown) {
    descriptors[descriptor].stream.store(0, std::memory_order_relaxed);
    descriptors[descriptor].state.store(Descriptor::unknown, std::memory_order_release);
  }
}
void forget_from(unsigned first, unsigned last) noexcept;

}  // namespace dovetail::prefetching
