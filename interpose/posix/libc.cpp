#include "libc.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dovetail::posix {
namespace {

// The kernel takes an offset as two words, of which the first has room for all of it.
ssize_t bare_read(int fd, void* data, std::size_t bytes) { return syscall(SYS_read, fd, data, bytes); }
ssize_t bare_write(int fd, const void* data, std::size_t bytes) { return syscall(SYS_write, fd, data, bytes); }
ssize_t bare_readv(int fd, const iovec* vectors, int count) { return syscall(SYS_readv, fd, vectors, count); }
ssize_t bare_writev(int fd, const iovec* vectors, int count) { return syscall(SYS_writev, fd, vectors, count); }
ssize_t bare_pread(int fd, void* data, std::size_t bytes, off_t offset) {
  return syscall(SYS_pread64, fd, data, bytes, offset);
}
ssize_t bare_pwrite(int fd, const void* data, std::size_t bytes, off_t offset) {
  return syscall(SYS_pwrite64, fd, data, bytes, offset);
}
ssize_t bare_preadv(int fd, const iovec* vectors, int count, off_t offset) {
  return syscall(SYS_preadv, fd, vectors, count, offset, 0L);
}
ssize_t bare_pwritev(int fd, const iovec* vectors, int count, off_t offset) {
  return syscall(SYS_pwritev, fd, vectors, count, offset, 0L);
}
ssize_t bare_preadv2(int fd, const iovec* vectors, int count, off_t offset, int flags) {
  return syscall(SYS_preadv2, fd, vectors, count, offset, 0L, flags);
}
ssize_t bare_pwritev2(int fd, const iovec* vectors, int count, off_t offset, int flags) {
  return syscall(SYS_pwritev2, fd, vectors, count, offset, 0L, flags);
}
int bare_fsync(int fd) { return static_cast<int>(syscall(SYS_fsync, fd)); }
int bare_fdatasync(int fd) { return static_cast<int>(syscall(SYS_fdatasync, fd)); }

template <class Function>
void find(Function*& function, const char* name) noexcept {
  if (void* found = dlsym(RTLD_NEXT, name)) {
    __atomic_store_n(&function, reinterpret_cast<Function*>(found), __ATOMIC_RELEASE);
  }
}

// All at once and early: later there may be threads, and calls from signal handlers, which must not ask the loader. Until
// then the bare calls do; should another constructor start a thread, it sees one or the other.
[[gnu::constructor(101)]] void find_all() noexcept {
  find(libc.read, "read");
  find(libc.write, "write");
  find(libc.readv, "readv");
  find(libc.writev, "writev");
  find(libc.pread, "pread64");
  find(libc.pwrite, "pwrite64");
  find(libc.preadv, "preadv64");
  find(libc.pwritev, "pwritev64");
  find(libc.preadv2, "preadv64v2");
  find(libc.pwritev2, "pwritev64v2");
  find(libc.fsync, "fsync");
  find(libc.fdatasync, "fdatasync");
}

}  // namespace

constinit Libc libc{bare_read,   bare_write,   bare_readv,   bare_writev,   bare_pread, bare_pwrite,
                    bare_preadv, bare_pwritev, bare_preadv2, bare_pwritev2, bare_fsync, bare_fdatasync};

void buffer_overrun() noexcept {
  if (auto* fail = reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, "__chk_fail"))) {
    fail();
  }
  abort();
}

}  // namespace dovetail::posix
