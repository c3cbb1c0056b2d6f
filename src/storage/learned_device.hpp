// The file systems that the process has used, and what was learned about them. Entries live as long as the process.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/process_mutex.hpp"
#include "storage/in_place_writes.hpp"
#include "storage/learner.hpp"
#include "storage/request.hpp"

namespace dovetail::storage {

/// Which requests of a device are alike: they share a queue and what is learned.
enum Lane : std::uint8_t {
  buffered_read_small,
  buffered_read_large,
  buffered_write_small,
  buffered_write_large,
  direct_read_small,
  direct_read_large,
  direct_write_small,
  direct_write_large,
  metadata,  ///< fsync, fallocate, open, close
  lanes,
};

/// Bytes up to which a transfer is small.
inline constexpr std::uint64_t small_transfer = 32 * 1024;

Lane lane_of(Kind kind, bool direct, std::uint64_t bytes) noexcept;
const char* name_of(Lane lane) noexcept;
/// The ways of performing the requests of a lane, the one to begin with first.
std::array<Route, Learner::candidates> routes_of(Lane lane) noexcept;

struct LearnedDevice {
  /// `file_system` is `statfs::f_type`; 0: unknown.
  LearnedDevice(dev_t id, unsigned index, unsigned long file_system);

  const dev_t id;
  const unsigned index;      ///< From 0, in the order of first use.
  const bool in_memory;      ///< A file system such as tmpfs: a transfer is a copy and nothing waits.
  const bool caches_writes;  ///< See `caches_writes_by_itself`.
  InPlaceWrites in_place_writes;

  base::ProcessMutex mutex;
  std::array<Learner, lanes> learned;  ///< Guarded by `mutex`.
};

/// Most devices told apart; later ones share the last entry.
inline constexpr unsigned most_devices = 64;

/// The device of an open file, whose file system is asked whether it keeps files in memory; -1: it does not. Thread-safe; takes a lock.
LearnedDevice& device_of(dev_t id, int descriptor);
/// Where operations without a file, such as open, are queued.
LearnedDevice& no_device();
/// What was learned so far, for people.
std::string explain();

}  // namespace dovetail::storage
