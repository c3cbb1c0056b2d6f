#include "device/calibration_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <random>

#include "base/huge_pages.hpp"
#include "base/without_signals.hpp"
#include "device/failure.hpp"

namespace dovetail::device {
namespace {

std::string folder_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    fail(errno, "stat", path);
  }
  if (S_ISDIR(status.st_mode)) {
    return path;
  }
  if (!S_ISREG(status.st_mode)) {
    // The folder of a device node lies on another device than the one that is meant.
    fail(ENOTDIR, "measure (name a folder of the file system on it)", path);
  }
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// For file systems without unnamed files: a name that is taken away at once, with no signal in between.
int open_and_unlink(const std::string& folder, bool direct) {
  const base::WithoutSignals undisturbed;
  std::string pattern = folder + "/.dovetail-measure-XXXXXX";
  const int made = mkostemp(pattern.data(), O_CLOEXEC | (direct ? O_DIRECT : 0));
  const int error = errno;
  if (made >= 0 || error == EINVAL) {
    unlink(pattern.c_str());  // EINVAL: made, but direct transfers were refused
  }
  errno = error;
  return made;
}

}  // namespace

CalibrationFile::CalibrationFile(const std::string& path, bool direct) {
  const std::string folder = folder_of(path);
  name_ = "unnamed file in " + folder;
  descriptor_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | (direct ? O_DIRECT : 0), 0600);
  if (descriptor_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT)) {
    descriptor_ = open_and_unlink(folder, direct);
  }
  if (descriptor_ < 0) {
    fail(errno, "open", name_);
  }
}

CalibrationFile::~CalibrationFile() { close(descriptor_); }

std::uint64_t CalibrationFile::reserve(std::uint64_t wanted, std::uint64_t least) {
  constexpr std::uint64_t grain = 64 * 1024;
  struct statvfs space{};
  if (fstatvfs(descriptor_, &space) == 0 && space.f_blocks != 0) {
    // A quarter at most: others write there too. Where that is next to nothing, half.
    const std::uint64_t available = std::uint64_t{space.f_bavail} * space.f_frsize;
    wanted = std::min(wanted, available / 4 >= least ? available / 4 : available / 2);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    wanted = std::min<std::uint64_t>(wanted, limit.rlim_cur);  // beyond it a signal would end the process
  }
  while (true) {
    wanted = wanted >= grain ? wanted / grain * grain : wanted / 4096 * 4096;
    if (wanted < least) {
      fail(ENOSPC, "fallocate", name_, 0, least);
    }
    if (fallocate(descriptor_, 0, 0, static_cast<off_t>(wanted)) == 0) {
      return wanted;
    }
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      truncate(wanted);
      return wanted;
    }
    if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG && errno != EINTR) {
      fail(errno, "fallocate", name_, 0, wanted);
    }
    wanted = errno == EINTR ? wanted : wanted / 2;
  }
}

void CalibrationFile::truncate(std::uint64_t size) {
  if (ftruncate(descriptor_, static_cast<off_t>(size)) != 0) {
    fail(errno, "ftruncate", name_, size, 0);
  }
}

void CalibrationFile::sync() {
  if (::fdatasync(descriptor_) != 0) {
    fail(errno, "fdatasync", name_);
  }
}

void CalibrationFile::forget() const noexcept { posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

TransferMemory::TransferMemory(std::size_t size)
    : data_(static_cast<std::byte*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))),
      size_(size) {
  if (data_ == MAP_FAILED) {
    throw std::bad_alloc();
  }
  base::prefer_huge_pages(data_, size);  // as an `IoBuffer`
  std::mt19937_64 random(size);
  for (std::size_t i = 0; i + sizeof(std::uint64_t) <= size; i += sizeof(std::uint64_t)) {
    const std::uint64_t value = random();
    std::copy_n(reinterpret_cast<const std::byte*>(&value), sizeof value, data_ + i);
  }
}

TransferMemory::~TransferMemory() { munmap(data_, size_); }

}  // namespace dovetail::device
