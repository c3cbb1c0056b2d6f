// Space on a file system for what has been acknowledged and is not yet in its file. So the call that wrote is told of "no space left", not
// a later one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "staging/stage.hpp"

namespace dovetail::staging {

/// Reserves space on one device for all files of a `Stage` there: a file without a name that is as large as all pending writes. It is made
/// with the first write and closed with the last file. The kernel takes it back when the process is killed.
class ReservedSpace : public Participant, public std::enable_shared_from_this<ReservedSpace> {
 public:
  /// That of `device`, for one more file, which is open as `descriptor`. Every file leaves it again.
  static std::shared_ptr<ReservedSpace> of(Stage& stage, dev_t device, int descriptor, const std::string& path)
      REQUIRES(stage_lock);
  void leave() noexcept REQUIRES(stage_lock);

  /// What a file system takes for a piece of a file, at most.
  static std::size_t blocks_of(std::uint64_t offset, std::size_t length) noexcept;

  /// Whether so much could be had without reserving more; it is taken.
  bool take_at_once(std::size_t bytes) noexcept REQUIRES(stage_lock);
  /// Whether so much could be had; it is taken. May give the lock back meanwhile. False: the file system is full, or cannot say.
  bool take(std::size_t bytes) REQUIRES(stage_lock);
  void give_back(std::size_t bytes) noexcept REQUIRES(stage_lock) { taken_ -= bytes; }
  /// The same for writes that have yet to be made.
  bool promise(std::size_t bytes) REQUIRES(stage_lock);
  void release(std::size_t bytes) noexcept REQUIRES(stage_lock) { promised_ -= bytes; }
  /// Nothing is on its way to any file of the device.
  bool unused() const noexcept REQUIRES(stage_lock) { return taken_ == 0 && !changing_; }
  /// Whether anything is reserved.
  bool is_held() const noexcept REQUIRES(stage_lock) { return held_ != 0; }
  /// Gives back all but what is promised, for a write that follows. Nothing more is taken until `written`.
  void yield() noexcept REQUIRES(stage_lock);
  void written() noexcept REQUIRES(stage_lock);

  void rest() noexcept override REQUIRES(stage_lock);
  void forget() noexcept override REQUIRES(stage_lock);

 private:
  ReservedSpace(Stage& stage, dev_t device);
  bool open() noexcept;
  bool grow(std::size_t needed) REQUIRES(stage_lock);
  bool ours() const noexcept;
  void shrink_to(std::size_t bytes) noexcept REQUIRES(stage_lock);
  void close() noexcept REQUIRES(stage_lock);

  Stage& stage_;
  const dev_t device_;
  const unsigned generation_;
  // Of the thread that has set `changing_`, else guarded by the lock.
  std::string folder_;  // of one of the files
  int descriptor_ = -1;
  ino_t inode_ = 0;

  unsigned files_ GUARDED_BY(stage_lock) = 0;
  std::size_t held_ GUARDED_BY(stage_lock) = 0;
  std::size_t taken_ GUARDED_BY(stage_lock) = 0;
  std::size_t promised_ GUARDED_BY(stage_lock) = 0;
  bool changing_ GUARDED_BY(stage_lock) = false;  // by a thread that does not hold the lock
  bool more_ GUARDED_BY(stage_lock) = false;      // is perhaps allocated than is held
  unsigned lent_ GUARDED_BY(stage_lock) = 0;      // to so many writes
};

}  // namespace dovetail::staging
