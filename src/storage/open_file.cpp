#include "storage/open_file.hpp"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "device/file_system.hpp"
#include "dovetail/failure.hpp"
#include "storage/file_operations.hpp"
#include "storage/waiter.hpp"

namespace dovetail::storage {
namespace {

// The number of an inode as a space. It is a bijection of the inode for each device, so two files of a device never
// share one. Two files of different devices might; they would then be ordered needlessly, never wrongly.
std::uint64_t space_of(std::uint64_t device, std::uint64_t inode) noexcept {
  std::uint64_t mixed = inode + device * 0x9e37'79b9'7f4a'7c15U;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d0'49bb'1331'11ebU;
  mixed ^= mixed >> 31;
  return mixed != 0 ? mixed : 1;  // 0 is the memory of the process
}

}  // namespace

[[noreturn]] void fail_to_open(int error, const std::string& path) { throw IoError(error, "open", path, 0, 0); }

bool is_stream(int descriptor, const struct stat& status) noexcept {
  if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || S_ISDIR(status.st_mode)) {
    return false;
  }
  return !S_ISCHR(status.st_mode) || (lseek(descriptor, 0, SEEK_CUR) < 0 && errno == ESPIPE);
}

std::string link_to(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

OpenFile::OpenFile(std::string path, int cached, int direct, bool owned) noexcept
    : path_(std::move(path)), cached_(cached), direct_(direct), owned_(owned) {}

OpenFile::~OpenFile() = default;

void OpenFile::perform_by(std::unique_ptr<FileOperations> operations) noexcept { operations_ = std::move(operations); }

std::shared_ptr<OpenFile> OpenFile::share(OpenFile* file) {
  return std::shared_ptr<OpenFile>(file, [](OpenFile* last) { last->orphan(); });
}

std::shared_ptr<OpenFile> OpenFile::make(const std::string& path, int cached, int direct, int flags, bool adaptive,
                                         Urgency urgency, const struct stat& status) {
  auto* file = new OpenFile(path, cached, direct, true);
  std::shared_ptr<OpenFile> shared = share(file);
  file->synchronous_ = (flags & O_DSYNC) != 0;  // O_SYNC contains that bit
  file->urgency_ = urgency;
  if (adaptive && direct >= 0) {
    file->choice_ = std::make_unique<DirectChoice>();
  }
  file->identify(status);
  return shared;
}

std::shared_ptr<OpenFile> OpenFile::adopt(int descriptor, bool owned) {
  std::string path = "descriptor " + std::to_string(descriptor);
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) {
    fail_to_open(errno, path);
  }
  struct stat status{};
  if (fstat(descriptor, &status) != 0) {
    fail_to_open(errno, path);
  }
  // The flag means packets for a pipe.
  const bool direct = (flags & O_DIRECT) != 0 && !is_stream(descriptor, status);
  if (direct && (flags & O_APPEND) != 0) {
    throw IoError(EINVAL, "use of a descriptor with O_DIRECT and O_APPEND (without one of them it can be used)", path,
                  0, 0);
  }
  auto* file = new OpenFile(std::move(path), direct ? -1 : descriptor, direct ? descriptor : -1, owned);
  std::shared_ptr<OpenFile> shared = share(file);
  file->synchronous_ = (flags & O_DSYNC) != 0;
  file->identify(status);
  return shared;
}

void OpenFile::identify(const struct stat& status) {
  stream_ = is_stream(descriptor(), status);
  file_system_ = status.st_dev;
  inode_ = status.st_ino;
  space_ = space_of(status.st_dev, status.st_ino);
  // The file system of a device node says nothing about the device.
  device_ = S_ISBLK(status.st_mode) ? &device::device_of(status.st_rdev, -1)
                                    : &device::device_of(status.st_dev, descriptor());
  if (direct_ < 0) {
    return;
  }
  struct statx extended{};
  if (statx(direct_, "", AT_EMPTY_PATH, STATX_DIOALIGN, &extended) == 0 && (extended.stx_mask & STATX_DIOALIGN) != 0 &&
      extended.stx_dio_offset_align != 0) {
    block_size_ = extended.stx_dio_offset_align;
    memory_alignment_ = std::max(extended.stx_dio_mem_align, 1U);
  } else if (device_->in_memory) {
    block_size_ = memory_alignment_ = 1;
  }
  alignment_ = std::max(block_size_, static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE)));
}

bool OpenFile::leads_here(int descriptor) const noexcept {
  if (owned_ || descriptor < 0) {
    return true;
  }
  struct stat status{};
  return fstat(descriptor, &status) == 0 && status.st_dev == file_system_ && status.st_ino == inode_;
}

bool OpenFile::grows_by_writing_up_to(std::uint64_t end) const noexcept {
  struct statx status{};
  // A later answer of a file server does not matter: this is about the writes of this program.
  return statx(descriptor(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_SIZE, &status) != 0 ||
         (S_ISREG(status.stx_mode) && status.stx_size < end);
}

int OpenFile::cached_descriptor() noexcept {
  int cached = cached_.load(std::memory_order_acquire);
  if (cached >= 0) {
    return cached;
  }
  const int flags = fcntl(direct_, F_GETFL);
  if (flags < 0) {
    return -1;
  }
  const int made = ::open(link_to(direct_).c_str(), (flags & ~(O_DIRECT | creation_flags)) | O_CLOEXEC);
  if (made >= 0 && !cached_.compare_exchange_strong(cached, made, std::memory_order_acq_rel)) {
    ::close(made);
    return cached;
  }
  return made;
}

bool OpenFile::begin() noexcept {
  // Not a blind increment: once `closing` is set the count may only fall, so that it reaches zero exactly once.
  std::uint64_t uses = uses_.load(std::memory_order_relaxed);
  do {
    if ((uses & closing) != 0) {
      return false;
    }
  } while (!uses_.compare_exchange_weak(uses, uses + 1, std::memory_order_acquire, std::memory_order_relaxed));
  return true;
}

void OpenFile::end() noexcept {
  const std::uint64_t before = uses_.fetch_sub(1, std::memory_order_acq_rel);
  if (before == 1 || (before & counted) != 1) [[likely]] {
    return;
  }
  if ((before & orphaned) != 0) {
    destroy();
  } else {
    closer_->notify();
  }
}

int OpenFile::begin_close(Waiter& drained) noexcept {
  // Own operation: it keeps the file from being drained before the closer is in place.
  if (!begin()) {
    return EBADF;
  }
  if ((uses_.fetch_or(closing, std::memory_order_acq_rel) & closing) != 0) {
    end();
    return EBADF;
  }
  closer_ = &drained;
  end();
  return 0;
}

void OpenFile::orphan() noexcept {
  if ((uses_.fetch_or(orphaned, std::memory_order_acq_rel) & counted) == 0) {
    destroy();
  }
}

void OpenFile::destroy() noexcept {
  if (!closed()) {
    if (const int error = close_descriptors()) {
      std::fprintf(stderr, "dovetail: closing %s failed: %s; data may be lost (File::close would have said so)\n",
                   path_.c_str(), std::generic_category().message(error).c_str());
    }
  }
  delete this;
}

int OpenFile::close_descriptors() noexcept {
  int error = 0;
  const auto close_one = [&error](int descriptor) {
    if (descriptor >= 0 && ::close(descriptor) != 0 && error == 0 && errno != EINTR) {
      error = errno;
    }
  };
  // Of an adopted file only the second descriptor is ours, unless the program gave us the first.
  const bool adopted_is_direct = direct_ >= 0;
  const int cached = cached_.load(std::memory_order_acquire);
  if (owned_ || adopted_is_direct) {
    close_one(cached);
  }
  if (owned_) {
    close_one(direct_);
  }
  return error;
}

bool OpenFile::expects_hit() noexcept {
  const std::uint32_t misses = misses_.load(std::memory_order_relaxed);
  if (misses < 8) {
    return true;
  }
  // After so many misses in a row only now and then: asking in vain costs a system call.
  misses_.store(misses + 1, std::memory_order_relaxed);
  return misses % 16 == 0;
}

void OpenFile::note_hit(bool hit) noexcept {
  const std::uint32_t misses = misses_.load(std::memory_order_relaxed);
  if (!hit || misses != 0) {
    misses_.store(hit ? 0 : misses + 1, std::memory_order_relaxed);
  }
}

}  // namespace dovetail::storage
