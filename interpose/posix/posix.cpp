// The calls of the C library that may wait for a disk. Outside of a task each goes on to the C library at once. Inside, it is described and
// handed to Dovetail, which has registered its functions here if it is in the process at all.
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "libc.hpp"
#include "storage/interposition.hpp"

namespace dovetail::posix {
namespace {

using storage::Call;
using storage::CallKind;
using storage::Interposition;

// Pairs with the store in `dovetail_posix_attach`.
constinit std::atomic<const Interposition*> attached{nullptr};

// Null outside of a task.
inline const Interposition* tasks() noexcept {
  const Interposition* found = attached.load(std::memory_order_acquire);
  return found != nullptr && found->in_task() ? found : nullptr;
}

// Never inlined, so that the compiler keeps no address of errno across a pause.
[[gnu::noinline]] std::int64_t or_error(std::int64_t result) noexcept {
  if (result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

std::int64_t answer(std::int64_t result) noexcept { return result < 0 ? -errno : result; }
const iovec* vectors_of(const Call& call) noexcept { return static_cast<const iovec*>(call.address); }
int count_of(const Call& call) noexcept { return static_cast<int>(call.count); }

std::int64_t libc_read(const Call& call) noexcept {
  return answer(libc.read(call.descriptor, call.address, call.count));
}
std::int64_t libc_write(const Call& call) noexcept {
  return answer(libc.write(call.descriptor, call.address, call.count));
}
std::int64_t libc_readv(const Call& call) noexcept {
  return answer(libc.readv(call.descriptor, vectors_of(call), count_of(call)));
}
std::int64_t libc_writev(const Call& call) noexcept {
  return answer(libc.writev(call.descriptor, vectors_of(call), count_of(call)));
}
std::int64_t libc_pread(const Call& call) noexcept {
  return answer(libc.pread(call.descriptor, call.address, call.count, call.offset));
}
std::int64_t libc_pwrite(const Call& call) noexcept {
  return answer(libc.pwrite(call.descriptor, call.address, call.count, call.offset));
}
std::int64_t libc_preadv(const Call& call) noexcept {
  return answer(libc.preadv(call.descriptor, vectors_of(call), count_of(call), call.offset));
}
std::int64_t libc_pwritev(const Call& call) noexcept {
  return answer(libc.pwritev(call.descriptor, vectors_of(call), count_of(call), call.offset));
}
std::int64_t libc_preadv2(const Call& call) noexcept {
  return answer(libc.preadv2(call.descriptor, vectors_of(call), count_of(call), call.offset, call.flags));
}
std::int64_t libc_pwritev2(const Call& call) noexcept {
  return answer(libc.pwritev2(call.descriptor, vectors_of(call), count_of(call), call.offset, call.flags));
}
std::int64_t libc_sync(const Call& call) noexcept {
  return answer(call.data_only ? libc.fdatasync(call.descriptor) : libc.fsync(call.descriptor));
}

// A negative count of vectors is refused by the system, whatever else it is.
std::size_t vector_count(int count) noexcept { return static_cast<std::size_t>(static_cast<unsigned>(count)); }

}  // namespace
}  // namespace dovetail::posix

using dovetail::posix::libc;
using dovetail::posix::or_error;
using dovetail::posix::tasks;
using dovetail::posix::vector_count;
using dovetail::storage::CallKind;

#define DOVETAIL_CALL extern "C" [[gnu::visibility("default")]]
#define DOVETAIL_ALIAS(name) __attribute__((alias(name), visibility("default")))

DOVETAIL_CALL void dovetail_posix_attach(const dovetail::storage::Interposition* interposition) noexcept {
  const bool known = interposition == nullptr || interposition->version == dovetail::storage::interposition_version;
  dovetail::posix::attached.store(known ? interposition : nullptr, std::memory_order_release);
}

DOVETAIL_CALL ssize_t read(int fd, void* data, std::size_t bytes) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform({dovetail::posix::libc_read, CallKind::read, false, false, fd, 0, data, bytes, 0}));
  }
  return libc.read(fd, data, bytes);
}

DOVETAIL_CALL ssize_t write(int fd, const void* data, std::size_t bytes) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform(
        {dovetail::posix::libc_write, CallKind::write, false, false, fd, 0, const_cast<void*>(data), bytes, 0}));
  }
  return libc.write(fd, data, bytes);
}

DOVETAIL_CALL ssize_t readv(int fd, const iovec* vectors, int count) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform({dovetail::posix::libc_readv, CallKind::read, true, false, fd, 0,
                                   const_cast<iovec*>(vectors), vector_count(count), 0}));
  }
  return libc.readv(fd, vectors, count);
}

DOVETAIL_CALL ssize_t writev(int fd, const iovec* vectors, int count) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform({dovetail::posix::libc_writev, CallKind::write, true, false, fd, 0,
                                   const_cast<iovec*>(vectors), vector_count(count), 0}));
  }
  return libc.writev(fd, vectors, count);
}

DOVETAIL_CALL ssize_t pread64(int fd, void* data, std::size_t bytes, off_t offset) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(
        here->perform({dovetail::posix::libc_pread, CallKind::pread, false, false, fd, 0, data, bytes, offset}));
  }
  return libc.pread(fd, data, bytes, offset);
}

DOVETAIL_CALL ssize_t pwrite64(int fd, const void* data, std::size_t bytes, off_t offset) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform(
        {dovetail::posix::libc_pwrite, CallKind::pwrite, false, false, fd, 0, const_cast<void*>(data), bytes, offset}));
  }
  return libc.pwrite(fd, data, bytes, offset);
}

DOVETAIL_CALL ssize_t preadv64(int fd, const iovec* vectors, int count, off_t offset) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform({dovetail::posix::libc_preadv, CallKind::pread, true, false, fd, 0,
                                   const_cast<iovec*>(vectors), vector_count(count), offset}));
  }
  return libc.preadv(fd, vectors, count, offset);
}

DOVETAIL_CALL ssize_t pwritev64(int fd, const iovec* vectors, int count, off_t offset) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform({dovetail::posix::libc_pwritev, CallKind::pwrite, true, false, fd, 0,
                                   const_cast<iovec*>(vectors), vector_count(count), offset}));
  }
  return libc.pwritev(fd, vectors, count, offset);
}

// With an offset of -1 these two use the file position.
DOVETAIL_CALL ssize_t preadv64v2(int fd, const iovec* vectors, int count, off_t offset, int flags) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform({dovetail::posix::libc_preadv2, offset == -1 ? CallKind::read : CallKind::pread, true,
                                   false, fd, flags, const_cast<iovec*>(vectors), vector_count(count), offset}));
  }
  return libc.preadv2(fd, vectors, count, offset, flags);
}

DOVETAIL_CALL ssize_t pwritev64v2(int fd, const iovec* vectors, int count, off_t offset, int flags) {
  if (const auto* here = tasks()) [[unlikely]] {
    return or_error(here->perform({dovetail::posix::libc_pwritev2, offset == -1 ? CallKind::write : CallKind::pwrite,
                                   true, false, fd, flags, const_cast<iovec*>(vectors), vector_count(count), offset}));
  }
  return libc.pwritev2(fd, vectors, count, offset, flags);
}

DOVETAIL_CALL int fsync(int fd) {
  if (const auto* here = tasks()) [[unlikely]] {
    return static_cast<int>(
        or_error(here->perform({dovetail::posix::libc_sync, CallKind::sync, false, false, fd, 0, nullptr, 0, 0})));
  }
  return libc.fsync(fd);
}

DOVETAIL_CALL int fdatasync(int fd) {
  if (const auto* here = tasks()) [[unlikely]] {
    return static_cast<int>(
        or_error(here->perform({dovetail::posix::libc_sync, CallKind::sync, false, true, fd, 0, nullptr, 0, 0})));
  }
  return libc.fdatasync(fd);
}

// Where a file offset has 64 bits anyway, the two names of a call are one function.
static_assert(sizeof(off_t) == 8);
extern "C" {
ssize_t pread(int, void*, std::size_t, off_t) DOVETAIL_ALIAS("pread64");
ssize_t pwrite(int, const void*, std::size_t, off_t) DOVETAIL_ALIAS("pwrite64");
ssize_t preadv(int, const iovec*, int, off_t) DOVETAIL_ALIAS("preadv64");
ssize_t pwritev(int, const iovec*, int, off_t) DOVETAIL_ALIAS("pwritev64");
ssize_t preadv2(int, const iovec*, int, off_t, int) DOVETAIL_ALIAS("preadv64v2");
ssize_t pwritev2(int, const iovec*, int, off_t, int) DOVETAIL_ALIAS("pwritev64v2");
}

// Functions that fortified programs call where the compiler knows the size of the buffer but not of the transfer.
DOVETAIL_CALL ssize_t __read_chk(int fd, void* data, std::size_t bytes, std::size_t room) {
  if (bytes > room) {
    dovetail::posix::buffer_overrun();
  }
  return read(fd, data, bytes);
}
DOVETAIL_CALL ssize_t __pread64_chk(int fd, void* data, std::size_t bytes, off_t offset, std::size_t room) {
  if (bytes > room) {
    dovetail::posix::buffer_overrun();
  }
  return pread64(fd, data, bytes, offset);
}
extern "C" ssize_t __pread_chk(int, void*, std::size_t, off_t, std::size_t) DOVETAIL_ALIAS("__pread64_chk");
