// Space on a file system for what has been acknowledged and is not yet in its file, so that "no space left" is the answer to the call that
// wrote and not to a later one.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "staging/stage.hpp"

namespace dovetail::staging {

/// Of one device, shared by all files of a `Stage` on it: a file without a name that is as large as all that is pending. It is made with
/// the first write and closed with the last file, and the kernel takes it back when the process is killed. All functions want the lock
/// held.
class ReservedSpace : public Participant, public std::enable_shared_from_this<ReservedSpace> {
 public:
  /// That of `device`, for one more file, which is open as `descriptor`. Every file leaves it again.
  static std::shared_ptr<ReservedSpace> of(Stage& stage, dev_t device, int descriptor, const std::string& path);
  void leave() noexcept;

  /// What a file system takes for a piece of a file, at most.
  static std::size_t blocks_of(std::uint64_t offset, std::size_t length) noexcept;

  /// Whether so much could be had without reserving more; it is taken.
  bool take_at_once(std::size_t bytes) noexcept;
  /// Whether so much could be had; it is taken. May let go of the lock meanwhile. False: the file system is full, or cannot say.
  bool take(Lock& lock, std::size_t bytes);
  void give_back(std::size_t bytes) noexcept { taken_ -= bytes; }
  /// The same for writes that have yet to be made.
  bool promise(Lock& lock, std::size_t bytes);
  void release(std::size_t bytes) noexcept { promised_ -= bytes; }
  /// Nothing is on its way to any file of the device.
  bool unused() const noexcept { return taken_ == 0 && !changing_; }
  /// Whether anything is reserved.
  bool held() const noexcept { return held_ != 0; }
  /// Gives back all but what is promised, for a write that follows. Nothing more is taken until `written`.
  void yield(Lock& lock) noexcept;
  void written() noexcept;

  void rest() noexcept override;
  void forget() noexcept override;

 private:
  ReservedSpace(Stage& stage, dev_t device);
  bool open() noexcept;
  bool grow(Lock& lock, std::size_t needed);
  bool ours() const noexcept;
  void shrink_to(std::size_t bytes) noexcept;
  void close() noexcept;

  Stage& stage_;
  const dev_t device_;
  const unsigned generation_;
  std::string folder_;  // of one of the files
  unsigned files_ = 0;
  int descriptor_ = -1;
  ino_t inode_ = 0;
  std::size_t held_ = 0;
  std::size_t taken_ = 0;
  std::size_t promised_ = 0;
  bool changing_ = false;  // by a thread that does not hold the lock
  bool more_ = false;      // is perhaps allocated than is held
  unsigned lent_ = 0;      // to so many writes
};

}  // namespace dovetail::staging
