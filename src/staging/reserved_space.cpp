#include "staging/reserved_space.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

namespace dovetail::staging {
namespace {

constexpr std::size_t block = 4096;
constexpr std::size_t least = std::size_t{4} << 20;

// Of an open file. The working directory of the program may have changed since it was opened.
std::string folder_of(int descriptor, const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  const std::string found = length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : path;
  const std::size_t slash = found.rfind('/');
  return slash == std::string::npos ? "." : found.substr(0, std::max<std::size_t>(slash, 1));
}

int unnamed_file(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
    return descriptor;
  }
  static unsigned number = 0;
  const std::string name = folder + "/.dovetail-" + std::to_string(getpid()) + '-' + std::to_string(++number);
  const int named = ::open(name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
  if (named >= 0) {
    unlink(name.c_str());
  }
  return named;
}

// A limit of file sizes is about files of the program: with it, this one has no size.
int how_to_allocate() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY ? 0 : FALLOC_FL_KEEP_SIZE;
}

int allocate(int descriptor, std::size_t bytes) noexcept {
  int result = -1;
  do {
    result = fallocate(descriptor, how_to_allocate(), 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result;
}

// What the file system needs to find the blocks.
std::size_t with_metadata(std::size_t bytes) noexcept { return bytes + bytes / 128 + 16 * block; }

}  // namespace

ReservedSpace::ReservedSpace(Stage& stage, dev_t device)
    : stage_(stage), device_(device), generation_(stage.generation()) {}

std::shared_ptr<ReservedSpace> ReservedSpace::of(Stage& stage, dev_t device, int descriptor, const std::string& path) {
  std::shared_ptr<ReservedSpace> space;
  for (Participant* participant : stage.participants) {
    auto* const known = dynamic_cast<ReservedSpace*>(participant);
    if (known != nullptr && known->device_ == device && known->generation_ == stage.generation()) {
      space = known->shared_from_this();
    }
  }
  if (space == nullptr) {
    space = std::shared_ptr<ReservedSpace>(new ReservedSpace(stage, device));
    stage.participants.push_back(space.get());
  }
  if (space->descriptor_ < 0 && !space->changing_) {
    space->folder_ = folder_of(descriptor, path);
  }
  ++space->files_;
  return space;
}

// Only once there is something to reserve space for: most files of a program that reads never come to that.
bool ReservedSpace::open() noexcept {
  descriptor_ = unnamed_file(folder_);
  struct stat status{};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
    return false;
  }
  inode_ = status.st_ino;
  if (status.st_dev != device_) {
    ::close(std::exchange(descriptor_, -1));
    return false;
  }
  return true;
}

void ReservedSpace::leave() noexcept {
  if (--files_ == 0) {
    close();
    std::erase(stage_.participants, this);
  }
}

void ReservedSpace::forget() noexcept { close(); }

void ReservedSpace::rest() noexcept {
  if (unused() && promised_ == 0 && held_ != 0) {
    shrink_to(0);
  }
}

std::size_t ReservedSpace::blocks_of(std::uint64_t offset, std::size_t length) noexcept {
  const std::uint64_t first = offset / block;
  const std::uint64_t behind = (offset + length + block - 1) / block;
  return static_cast<std::size_t>(behind - first) * block;
}

bool ReservedSpace::take_at_once(std::size_t bytes) noexcept {
  if (changing_ || lent_ != 0 || with_metadata(taken_ + promised_ + bytes) > held_) {
    return false;
  }
  taken_ += bytes;
  return true;
}

bool ReservedSpace::take(std::size_t bytes) {
  stage_.wait(
      stage_.statistics.waited_for_room, [this]() REQUIRES(stage_lock) { return !changing_ && lent_ == 0; }, this);
  if (take_at_once(bytes)) {
    return true;
  }
  taken_ += bytes;  // others come while the lock is given back
  if (grow(with_metadata(taken_ + promised_))) {
    return true;
  }
  taken_ -= bytes;
  return false;
}

bool ReservedSpace::promise(std::size_t bytes) {
  if (!take(bytes)) {
    return false;
  }
  taken_ -= bytes;
  promised_ += bytes;
  return true;
}

bool ReservedSpace::grow(std::size_t needed) {
  changing_ = true;
  // So seldom that it does not count; as little as possible where there is little.
  std::size_t size = std::max(least, std::bit_ceil(needed));
  bool there = false;
  bool made = false;
  {
    const Unlocked unlocked(stage_.mutex);
    there = descriptor_ < 0 ? open() : ours();
    made = there && allocate(descriptor_, size) == 0;
    if (there && !made && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) {
      size = needed;
      made = ftruncate(descriptor_, 0) == 0 && allocate(descriptor_, size) == 0;
    }
  }
  changing_ = false;
  if (made) {
    held_ = size;
  } else {
    more_ = more_ || there;
  }
  stage_.notify();
  return made;
}

void ReservedSpace::yield() noexcept {
  stage_.wait(stage_.statistics.waited_for_room, [this]() REQUIRES(stage_lock) { return !changing_; }, this);
  if (held_ > promised_ || more_) {
    shrink_to(promised_);
  }
  ++lent_;
}

void ReservedSpace::written() noexcept {
  --lent_;
  stage_.notify();
}

// The program may have closed all descriptors that it does not know, and have others of the same number.
bool ReservedSpace::ours() const noexcept {
  struct stat status{};
  return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void ReservedSpace::shrink_to(std::size_t bytes) noexcept {
  held_ = 0;
  more_ = false;
  // The rest is allocated anew: a file that has no size is cut as a whole.
  if (!ours() || ftruncate(descriptor_, 0) != 0) {
    return;
  }
  if (bytes != 0 && allocate(descriptor_, bytes) == 0) {
    held_ = bytes;
  }
}

void ReservedSpace::close() noexcept {
  if (ours()) {
    ::close(descriptor_);
  }
  descriptor_ = -1;
  held_ = 0;
}

}  // namespace dovetail::staging
