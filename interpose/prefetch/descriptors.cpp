#include "descriptors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace dovetail::prefetching {
namespace {

// The way to the descriptor in /proc, without the C library's printf, which a signal handler must not call.
void way_to(int descriptor, char* name) noexcept {
  constexpr char folder[] = "/proc/self/fd/";
  std::memcpy(name, folder, sizeof folder);
  char digits[12];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + descriptor % 10);
    descriptor /= 10;
  } while (descriptor != 0);
  char* at = name + sizeof folder - 1;
  while (count > 0) {
    *at++ = digits[--count];
  }
  *at = '\0';
}

}  // namespace

constinit Descriptor descriptors[most_descriptors];
constinit Detection detections[most_descriptors];
constinit Guidance guidances[most_descriptors];
constinit std::atomic<bool> active{false};

bool identify(int descriptor, FileIdentity& identity) noexcept {
  struct stat status{};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
    return false;
  }
  identity = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
              static_cast<std::uint64_t>(status.st_mtim.tv_sec), static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
  return true;
}

bool reads_pages(int descriptor) noexcept {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & (O_DIRECT | O_PATH)) == 0 && (flags & O_ACCMODE) != O_WRONLY;
}

std::size_t name_of(int descriptor, char* path, std::size_t room) noexcept {
  char name[32];
  way_to(descriptor, name);
  const ssize_t length = readlink(name, path, room);
  const bool whole = length > 0 && static_cast<std::size_t>(length) < room && path[0] == '/';
  return whole ? static_cast<std::size_t>(length) : 0;
}

void forget_from(unsigned first, unsigned last) noexcept {
  for (unsigned number = first; number < most_descriptors && number <= last; ++number) {
    forget(static_cast<int>(number));
  }
}

}  // namespace dovetail::prefetching
