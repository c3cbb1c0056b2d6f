// One device, as all rooms know it: the block device or server behind a file system, by whatever name or path it was reached.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/process_mutex.hpp"
#include "device/direction.hpp"
#include "device/in_place_writes.hpp"
#include "device/level.hpp"
#include "device/request_level.hpp"

namespace dovetail::device {

/// Lives as long as the process, and in the child of a fork. Thread-safe.
///
/// *One level of concurrency.* Requests and tasks that are admitted by the number share one queue, so one of them searches at a time. While
/// such tasks use the device, their number is varied. `RequestLevel`s rest then, and lanes let through at least as many requests as there may
/// be tasks. Each of the two begins with what the other has found.
class Device {
 public:
  /// `file_system` is `statfs::f_type`; 0: unknown.
  Device(dev_t id, unsigned index, unsigned long file_system);
  /// Without files, by the name that dovetail.toml gives it.
  explicit Device(const std::string& link);

  /// @name Identity
  /// @{
  const dev_t id;  ///< Of its file system; of the device, where the node of a block device was opened. 0: of none.
  const unsigned index;  ///< From 0, in the order of first use; less than `most_devices`.
  /// What it is called in what runs remember. The first call reads the mount table.
  const std::string& key() const;
  /// The same in what runs remember of tasks: without the host, if the device is configured as shared by several.
  const std::string& level_key() const;
  /// @}

  /// @name Facts
  /// @{
  const bool in_memory;       ///< A file system such as tmpfs: a transfer is a copy and nothing waits.
  const bool caches_writes;   ///< See `caches_writes_by_itself`.
  const bool reserves_space;  ///< See `device::reserves_space`.
  /// @}

  /// @name Configured
  /// By all names that lead to it, of all files that the process reads.
  /// @{
  /// @param most  Tasks at once; 0: this name says nothing. The least number that any name says holds.
  /// @param shared  By several hosts. It is if any name says so.
  void configure(unsigned most, bool shared) noexcept;
  /// How many tasks may use it at once, whatever their constraints; 0: any number.
  unsigned most_at_once() const noexcept { return most_at_once_.load(std::memory_order_relaxed); }
  /// @}

  /// @name Measured
  /// @{
  /// What so many requests at once transfer, in ascending order. Empty: it was not measured, in this run or an earlier one. The first call
  /// reads what earlier runs remember.
  std::vector<Level> curve(Direction direction) const;
  /// Keeps a curve, and remembers it for other runs. Where requests have not begun to look for their depth, they begin with its knee.
  void set_curve(Direction direction, std::vector<Level> curve);
  /// The level that requests of this kind have found.
  RequestLevel& requests(RequestKind kind) noexcept { return requests_[kind]; }
  InPlaceWrites in_place_writes;
  /// @}

  /// @name In use
  /// @{
  void request_begins() noexcept { requests_under_way_.fetch_add(1, std::memory_order_relaxed); }
  void request_ends() noexcept { requests_under_way_.fetch_sub(1, std::memory_order_relaxed); }
  void moved(Direction direction, std::uint64_t bytes) noexcept {
    bytes_[static_cast<unsigned>(direction)].fetch_add(bytes, std::memory_order_relaxed);
  }
  unsigned requests_under_way() const noexcept { return requests_under_way_.load(std::memory_order_relaxed); }
  /// Moved by requests, and by the blocking calls of I/O tasks, staged files and reading ahead, from the page cache or the device. Transfers
  /// that a compute worker made at once in the page cache do not count.
  std::uint64_t bytes(Direction direction) const noexcept {
    return bytes_[static_cast<unsigned>(direction)].load(std::memory_order_relaxed);
  }
  /// How many tasks may use it at once, by what is being learned of them; 0: no such task uses it.
  unsigned tasks_at_once() const noexcept { return tasks_at_once_.load(std::memory_order_relaxed); }
  void set_tasks_at_once(unsigned count) noexcept { tasks_at_once_.store(count, std::memory_order_relaxed); }
  /// In the child of a fork: what used it is the parent's.
  void forget_use() noexcept {
    requests_under_way_.store(0, std::memory_order_relaxed);
    tasks_at_once_.store(0, std::memory_order_relaxed);
  }
  /// @}

 private:
  void recall() const REQUIRES(mutex_);

  mutable base::ProcessMutex mutex_;
  mutable bool recalled_ GUARDED_BY(mutex_) = false;
  // Constant from `recall` on.
  mutable std::string key_;
  mutable std::string key_of_all_hosts_;
  std::atomic<unsigned> most_at_once_{0};
  std::atomic<bool> shared_{false};
  mutable std::array<std::vector<Level>, 2> curves_ GUARDED_BY(mutex_);
  std::array<RequestLevel, request_kinds> requests_;
  alignas(64) std::atomic<unsigned> requests_under_way_{0};
  std::array<std::atomic<std::uint64_t>, 2> bytes_{};
  alignas(64) std::atomic<unsigned> tasks_at_once_{0};  // Read for each request, seldom written.
};

/// Most devices told apart; later ones share the last entry.
inline constexpr unsigned most_devices = 64;

/// The device of a file system, by an open file on it; -1: nothing is known but the number. Takes a lock.
Device& device_of(dev_t id, int descriptor);
/// By a path that exists. @throws std::system_error.
Device& device_of(const std::string& path);
/// Where operations without a file, such as open, are queued.
Device& no_device();
/// A device without files: of this name, one in the process.
Device& link_of(const std::string& name);

}  // namespace dovetail::device
