// The places of files in memory that all processes of one `dovetail run`, or of one advisor, share. No allocation, no lock: a process may be killed at any instant, so
// a place that is taken stays taken.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefetch/device_list.hpp"
#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

/// What stands in front of every place. Python reads it (python/dovetail/file_table.py). All bytes zero is a place that no file has.
struct FileEntry {
  enum State : std::uint32_t { unused = 0, being_made = 1, ready = 2 };
  static constexpr std::size_t longest_name = 184;

  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> given_up;  // a `GivenUp`
  std::uint64_t device;
  std::uint64_t inode;
  std::atomic<std::uint64_t> size;
  std::atomic<std::uint64_t> modified;  // when its content was changed last, in nanoseconds
  std::atomic<std::uint64_t> asked;     // bytes that the system was asked to read
  std::uint32_t piece;                  // of its device, as in `DeviceList`: see `piece_bytes`
  std::uint32_t gap;
  char name[longest_name];  // for the report, and for `dovetail prefetch status`
  ReadCounts counts;        // only in a table whose reads are timed

  /// Others can write into the memory: a sensible piece in any case.
  std::uint32_t piece_bytes() const noexcept { return std::clamp<std::uint32_t>(piece, 64U << 10, 64U << 20); }
};
static_assert(sizeof(FileEntry) == 264 && offsetof(FileEntry, name) == 56);

enum class Found { none, made, known, changed };

/// Finds the place of a file among `count` places, or gives it one. `Place` is a FileEntry and more.
/// `belongs(place)`: whether a place of this device and inode is the one that is looked for.
/// `make(place)`: completes a place that is new, before others see it. `changed`: it is known as another version, and has this size and time from now on.
/// `none`: there is no device behind it, another process is about to make it, or its neighbourhood is full.
template <class Place, class Belongs, class Make>
Found find_place(Place* places, std::uint32_t count, const FileIdentity& identity, const DeviceList& devices,
                 std::uint32_t& number, const Belongs& belongs, const Make& make) noexcept {
  constexpr std::uint32_t probes = 16;
  const std::uint64_t hash = (identity.inode * 0x9E3779B97F4A7C15 + identity.device) >> 20;
  const std::uint64_t modified = identity.seconds * 1'000'000'000 + identity.nanoseconds;
  for (std::uint32_t probe = 0; count != 0 && probe < probes; ++probe) {
    number = static_cast<std::uint32_t>((hash + probe) % count);
    Place& place = places[number];
    std::uint32_t state = place.state.load(std::memory_order_acquire);
    if (state == FileEntry::unused) {
      const DeviceList::Device device = devices.of(identity.device);
      if (device.piece == 0 ||
          !place.state.compare_exchange_strong(state, FileEntry::being_made, std::memory_order_acquire)) {
        return Found::none;  // another process may be faster; the next look finds what it has made
      }
      place.device = identity.device;
      place.inode = identity.inode;
      place.size.store(identity.size, std::memory_order_relaxed);
      place.modified.store(modified, std::memory_order_relaxed);
      place.piece = device.piece;
      place.gap = device.gap;
      make(place);
      place.state.store(FileEntry::ready, std::memory_order_release);
      return Found::made;
    }
    if (state == FileEntry::being_made) {
      return Found::none;  // it may be this file's: the next look knows
    }
    if (state == FileEntry::ready && place.device == identity.device && place.inode == identity.inode &&
        belongs(place)) {
      const bool same_size = place.size.exchange(identity.size, std::memory_order_relaxed) == identity.size;
      const bool same_time = place.modified.exchange(modified, std::memory_order_relaxed) == modified;
      return same_size && same_time ? Found::known : Found::changed;
    }
  }
  return Found::none;
}

}  // namespace dovetail::prefetching
