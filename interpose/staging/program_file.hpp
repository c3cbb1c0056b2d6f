// A file of the program that the configuration names. It is staged from the first write on that makes it, or finds it, as large as that says, until it is given
// up.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "configuration.hpp"
#include "held_signals.hpp"
#include "staging/file_failure.hpp"
#include "staging/tiered_file.hpp"
#include "use_lock.hpp"

namespace dovetail::interpose::staged {

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};
inline FileIdentity identity_of(const struct stat64& status) noexcept { return {status.st_dev, status.st_ino}; }

/// The lock of all files, of this process. A thread that has it must not wait for the lock of uses of a file.
base::Mutex& lock_of_files() noexcept;

/// That it stays as it is, for one thread, which takes no signals. The check of locks does not follow it, since it is moved.
class HeldUse {
 public:
  HeldUse() noexcept = default;
  explicit HeldUse(UseLock& use) noexcept NO_THREAD_SAFETY_ANALYSIS : use_(&use) {
    HeldSignals::hold();
    use.lock_shared();
  }
  ~HeldUse() NO_THREAD_SAFETY_ANALYSIS {
    if (use_ != nullptr) {
      use_->unlock_shared();
      HeldSignals::let_go();
    }
  }
  HeldUse(HeldUse&& other) noexcept : use_(std::exchange(other.use_, nullptr)) {}
  HeldUse& operator=(HeldUse&& other) noexcept {
    std::swap(use_, other.use_);
    return *this;
  }

 private:
  UseLock* use_ = nullptr;
};

/// Thread-safe. Its functions block, and make no calls that the program could see. They throw nothing: memory that runs out is a failure as others are.
class ProgramFile : public std::enable_shared_from_this<ProgramFile> {
 public:
  /// @param path absolute, without symbolic links @param rule stays
  /// @param drained called after each drain behind the program, by the thread that drains
  ProgramFile(FileIdentity identity, std::string path, const FileRule& rule,
              void (*drained)(const std::shared_ptr<ProgramFile>&) noexcept)
      : identity_(identity), path_(std::move(path)), rule_(rule), drained_(drained) {}

  const FileIdentity& identity() const noexcept { return identity_; }
  const std::string& path() const noexcept { return path_; }

  /// While it lives, the file is neither given up nor becomes staged. One thread has at most one of a file.
  class Use {
   public:
    /// Otherwise the file is plain: what the program asks for is the system's to do.
    bool is_staged() const noexcept { return file_ != nullptr; }
    std::uint64_t size() const { return tier().size(); }
    /// Bytes, or a negative errno.
    ssize_t read(std::uint64_t offset, std::span<std::byte> target) const noexcept;
    ssize_t write(std::uint64_t offset, std::span<const std::byte> data) const noexcept;
    /// At the end of the file; `offset` becomes that.
    ssize_t append(std::span<const std::byte> data, std::uint64_t& offset) const noexcept;
    /// 0, or an errno.
    int set_size(std::uint64_t size) const noexcept;
    /// Others see what was written. 0, or an errno.
    int drain() const noexcept;
    /// Size and time of the last change, as the program has made them.
    void correct(struct stat64& status) const noexcept;
    void correct(struct statx& status) const noexcept;
    /// Returns when all is durable on the tier. 0, or an errno, also of a drain behind the program.
    int sync() const noexcept;

   private:
    friend class ProgramFile;
    std::uint64_t blocks(std::uint64_t of_final) const noexcept;
    // `held_` has the lock.
    void is_held() const noexcept ASSERT_SHARED_CAPABILITY(file_->use_) {}
    dovetail::staging::TieredFile& tier() const noexcept {
      is_held();
      return *file_->tier_;
    }
    HeldUse held_;
    ProgramFile* file_ = nullptr;
  };
  Use use() noexcept;
  /// Stages a file that has become large enough. @param descriptor of the program's, open for writing @param end of what it will write there
  Use use_to_write(int descriptor, std::uint64_t end) noexcept;
  /// The program has set the time of the last change, to this, or to now.
  void set_modified(const timespec* time) noexcept;

  /// All is in the final file, and stays the system's to read and write. Tells why, if something was staged and there is a reason. 0, or an errno: it is as
  /// it was.
  int give_up(const char* why) noexcept;
  /// How many files have been given up, or closed and drained, in this process: where it changes, what was seen before of a final file may be old.
  static unsigned ends() noexcept { return ends_.load(std::memory_order_acquire); }

  /// A drain is announced, so that it is known of before it is asked for. Whether any is announced, and has not ended.
  void announce_drain() noexcept;
  bool has_drains() noexcept;
  /// Drains behind the program, as announced.
  void drain_behind() noexcept;
  /// Of a drain in the background, since the last call; 0: none.
  int take_failure() noexcept;
  /// Drains, and removes the log, if it is staged. No descriptor of the program leads to it. Nothing: a drain is announced, after which it is called again.
  /// What is staged of a file that has no name any more is not drained.
  std::optional<dovetail::staging::FileFailure> finish_closed() noexcept;
  /// Of the log; empty: it was never staged.
  /// Once it is staged it does not change any more.
  const std::string& folder() const noexcept NO_THREAD_SAFETY_ANALYSIS { return folder_; }

  // Of those that have it open, and of those that wait for its end.
  unsigned openings GUARDED_BY(lock_of_files()) = 0;
  bool is_being_removed GUARDED_BY(lock_of_files()) = false;  // it is not known yet whether it is
  bool is_ending GUARDED_BY(lock_of_files()) = false;         // it is closed, and a thread finishes it
  int end_error GUARDED_BY(lock_of_files()) = 0;              // why the log stays though the file is closed

 private:
  enum class State { fresh, staged, plain };
  void stage(int descriptor) noexcept;
  void try_to_stage(int descriptor) REQUIRES(use_);
  void wrote() noexcept REQUIRES_SHARED(use_);
  void changed() noexcept;
  void restore_times() noexcept;
  void wait_for_drains() noexcept;
  dovetail::staging::FileFailure finish() noexcept REQUIRES(use_);
  void end() noexcept REQUIRES(use_);
  int failed_write(std::uint64_t offset, std::span<const std::byte> data) noexcept REQUIRES_SHARED(use_);
  // Of a file of which a drain is announced: it stays until that has ended.
  dovetail::staging::TieredFile& drained_tier() const noexcept NO_THREAD_SAFETY_ANALYSIS { return *tier_; }

  const FileIdentity identity_;
  const std::string path_;
  const FileRule& rule_;
  void (*const drained_)(const std::shared_ptr<ProgramFile>&) noexcept;
  static inline constinit std::atomic<unsigned> ends_{0};
  UseLock use_;
  std::atomic<State> state_ = State::fresh;  // changes with `use_` held exclusively
  // It goes when the file is given up, and so before the program can have a record lock or a lease: its descriptor would refuse the one, and its end would end the
  // other.
  std::unique_ptr<dovetail::staging::TieredFile> tier_ GUARDED_BY(use_);
  std::string folder_ GUARDED_BY(use_);
  base::Mutex end_of_file_;
  std::atomic<bool> is_requested_{false};
  std::atomic<bool> has_told_{false};
  base::Mutex mutex_;
  base::ConditionVariable no_drain_;
  unsigned drains_ GUARDED_BY(mutex_) = 0;
  dovetail::staging::FileFailure failure_ GUARDED_BY(mutex_);
  std::optional<timespec> modified_ GUARDED_BY(mutex_);
  std::optional<timespec> changed_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::interpose::staged
