// One opened file, shared by all `File` objects and requests that use it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "device/device.hpp"
#include "dovetail/file.hpp"
#include "storage/direct_choice.hpp"

namespace dovetail::storage {

using device::Device;
using device::InPlaceWrites;

class FileOperations;
class Waiter;

/// Flags with which `open` changes a file, and which a second descriptor of it must not have.
inline constexpr int creation_flags = O_CREAT | O_EXCL | O_TRUNC;
bool is_stream(int descriptor, const struct stat& status) noexcept;
/// @throws IoError.
[[noreturn]] void fail_to_open(int error, const std::string& path);
/// A path by which the file of a descriptor can be opened again.
std::string link_to(int descriptor);

/// Has up to two descriptors: a direct file keeps one that goes through the page cache for the heads and tails that are not
/// aligned. All functions may be called from any thread; those that may suspend say so.
class OpenFile {
 public:
  /// Of descriptors that were opened, which are its own from now on; -1: there is no direct one.
  /// @param adaptive  Each transfer chooses between them.
  /// @param status  Of the first one.
  static std::shared_ptr<OpenFile> make(const std::string& path, int cached, int direct, int flags, bool adaptive,
                                        Urgency urgency, const struct stat& status);
  /// Uses a descriptor of the caller. @throws IoError where it is not open.
  static std::shared_ptr<OpenFile> adopt(int descriptor, bool owned);

  /// Null: its descriptors do. What performs its operations else.
  FileOperations* operations() const noexcept { return operations_.get(); }
  /// Before another thread uses the file.
  void perform_by(std::unique_ptr<FileOperations> operations) noexcept;

  const std::string& path() const noexcept { return path_; }
  std::uint64_t space() const noexcept { return space_; }
  Device& device() const noexcept { return *device_; }
  /// Of its requests, where they wait for the device (request_lane.hpp).
  Urgency urgency() const noexcept { return urgency_; }
  /// A pipe, socket or terminal. Transfers take or give the next bytes, whatever offset they name, and may wait as long as the other
  /// end likes.
  bool stream() const noexcept { return stream_; }
  /// Whether a write through the page cache is, as a rule, a copy: to a file system of this machine, without `O_SYNC` or `O_DSYNC`.
  bool write_is_copy() const noexcept { return !synchronous_ && device_->caches_writes; }
  /// In whose queues its requests wait for their turn. Null for a stream: it is no device, and those that wait for a writer must not
  /// keep back others.
  Device* queued_at() const noexcept { return stream_ ? nullptr : device_; }
  bool closed() const noexcept { return (uses_.load(std::memory_order_acquire) & closing) != 0; }

  /// The descriptor that transfers through the page cache, or -1: a direct file whose other descriptor cannot be made.
  int cached_descriptor() noexcept;
  /// The descriptor that transfers directly, or -1.
  int direct_descriptor() const noexcept { return direct_; }
  /// Whether this descriptor still leads to this file. While a request waits for its turn, a program may close its descriptor and
  /// open another file that gets the number. A system call for a descriptor of the program's; true for our own.
  bool leads_here(int descriptor) const noexcept;
  /// The one that the program is told.
  int descriptor() const noexcept { return direct_ >= 0 ? direct_ : cached_.load(std::memory_order_acquire); }

  /// Whether this transfer should bypass the page cache: only where both ways are open is there a choice.
  bool chooses_direct(Kind kind, std::uint64_t offset, std::uint64_t length) noexcept {
    return choice_ == nullptr || cached_.load(std::memory_order_relaxed) < 0 || choice_->direct(kind, offset, length);
  }

  /// Direct transfers begin and end at multiples of it. At least a page, so that a page is never written both ways.
  std::uint32_t alignment() const noexcept { return alignment_; }
  /// Whether a write that ends at this offset makes the file longer. A system call.
  bool grows_by_writing_up_to(std::uint64_t end) const noexcept;
  /// What the file system itself requires of offsets and lengths.
  std::uint32_t block_size() const noexcept { return block_size_; }
  /// And of addresses.
  std::uint32_t memory_alignment() const noexcept { return memory_alignment_; }

  /// Counts an operation in. False once the file has been closed. Each true is followed by one `end`, which may destroy the
  /// file if no `File` is left.
  bool begin() noexcept;
  void end() noexcept;

  /// Lets no operation begin from now on. Returns `EBADF` if an earlier call did so; else 0, and `drained` is notified once all
  /// operations in flight have ended, perhaps before this returns. Then the caller has to `close_descriptors`, and keeps a share of
  /// the file until it has.
  int begin_close(Waiter& drained) noexcept;
  /// May block. Returns an errno, or 0.
  int close_descriptors() noexcept;

  /// How likely a read is to find its data in the page cache, by experience. Approximate under concurrency.
  bool expects_hit() noexcept;
  void note_hit(bool hit) noexcept;

  /// Of the declared files (declared_files.hpp): their version when its space last meant this file; 0: never.
  std::uint64_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }
  void note_kept(std::uint64_t version) noexcept { kept_.store(version, std::memory_order_relaxed); }

 private:
  // `uses_`: operations in flight, and these flags.
  static constexpr std::uint64_t closing = std::uint64_t{1} << 62;  // `close` was called.
  static constexpr std::uint64_t orphaned = std::uint64_t{1}
                                            << 63;  // No `File` is left: the last operation destroys it.
  static constexpr std::uint64_t counted = closing - 1;

  OpenFile(std::string path, int cached, int direct, bool owned) noexcept;
  ~OpenFile();
  static std::shared_ptr<OpenFile> share(OpenFile* file);
  void identify(const struct stat& status);
  void orphan() noexcept;
  void destroy() noexcept;

  const std::string path_;
  std::atomic<int> cached_;
  int direct_;
  bool stream_ = false;
  bool synchronous_ = false;
  Urgency urgency_ = Urgency::program;
  const bool owned_;
  std::uint32_t alignment_ = 4096;
  std::uint32_t block_size_ = 4096;
  std::uint32_t memory_alignment_ = 4096;
  std::uint64_t space_ = 0;
  dev_t file_system_ = 0;
  ino_t inode_ = 0;
  Device* device_ = nullptr;
  std::unique_ptr<FileOperations> operations_;
  std::unique_ptr<DirectChoice> choice_;  // Direct::adaptive
  Waiter* closer_ = nullptr;              // Published by `closing`.
  std::atomic<std::uint64_t> uses_{0};
  std::atomic<std::uint32_t> misses_{0};
  std::atomic<std::uint64_t> kept_{0};
};

/// Ends, with its life, an operation that was counted in.
class FileUse {
 public:
  explicit FileUse(OpenFile& file) noexcept : file_(&file) {}
  FileUse(FileUse&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
  FileUse& operator=(FileUse&&) = delete;
  ~FileUse() {
    if (file_ != nullptr) {
      file_->end();
    }
  }

 private:
  OpenFile* file_;
};

}  // namespace dovetail::storage
