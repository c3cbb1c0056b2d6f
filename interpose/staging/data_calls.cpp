// The calls that read and write.
#include <pthread.h>

#include <cstdarg>
#include <cstdio>

#include "libc.hpp"
#include "transfer.hpp"

using namespace dovetail::interpose::staged;

namespace {

template <class Plain>
ssize_t read_by(int fd, const iovec* vectors, int count, off64_t offset, int flags, const Plain& plain) {
  ssize_t result = 0;
  Transfer transfer(fd, offset, flags);
  if (transfer.is_of_interest()) {
    pthread_testcancel();  // as in the system's call: below, the thread is not cancelled
  }
  const bool ours = transfer.is_of_interest() && count > 0 && count <= IOV_MAX && offset >= Transfer::here &&
                    transfer.read({vectors, static_cast<std::size_t>(count)}, result);
  return ours ? result : plain();
}

template <class Plain>
ssize_t write_by(int fd, const iovec* vectors, int count, off64_t offset, int flags, const Plain& plain) {
  ssize_t result = 0;
  Transfer transfer(fd, offset, flags);
  if (transfer.is_of_interest()) {
    pthread_testcancel();  // as in the system's call: below, the thread is not cancelled
  }
  const bool ours = transfer.is_of_interest() && count > 0 && count <= IOV_MAX && offset >= Transfer::here &&
                    transfer.write({vectors, static_cast<std::size_t>(count)}, result);
  return ours ? result : plain();
}

// Of calls to which an offset of -1 is none that is right.
constexpr off64_t wrong = -2;
constexpr off64_t given(off64_t offset) noexcept { return offset < 0 ? wrong : offset; }

iovec whole(const void* data, std::size_t bytes) noexcept { return {const_cast<void*>(data), bytes}; }

}  // namespace

DOVETAIL_CALL ssize_t read(int fd, void* data, std::size_t bytes) {
  const iovec one = whole(data, bytes);
  return read_by(fd, &one, 1, Transfer::here, 0, [&] { return libc::read(fd, data, bytes); });
}
DOVETAIL_CALL ssize_t pread64(int fd, void* data, std::size_t bytes, off64_t offset) {
  const iovec one = whole(data, bytes);
  return read_by(fd, &one, 1, given(offset), 0, [&] { return libc::pread64(fd, data, bytes, offset); });
}
DOVETAIL_CALL ssize_t readv(int fd, const iovec* vectors, int count) {
  return read_by(fd, vectors, count, Transfer::here, 0, [&] { return libc::readv(fd, vectors, count); });
}
DOVETAIL_CALL ssize_t preadv64(int fd, const iovec* vectors, int count, off64_t offset) {
  return read_by(fd, vectors, count, given(offset), 0, [&] { return libc::preadv64(fd, vectors, count, offset); });
}
DOVETAIL_CALL ssize_t preadv64v2(int fd, const iovec* vectors, int count, off64_t offset, int flags) {
  return read_by(fd, vectors, count, offset, flags,
                 [&] { return libc::preadv64v2(fd, vectors, count, offset, flags); });
}
DOVETAIL_CALL ssize_t write(int fd, const void* data, std::size_t bytes) {
  const iovec one = whole(data, bytes);
  return write_by(fd, &one, 1, Transfer::here, 0, [&] { return libc::write(fd, data, bytes); });
}
DOVETAIL_CALL ssize_t pwrite64(int fd, const void* data, std::size_t bytes, off64_t offset) {
  const iovec one = whole(data, bytes);
  return write_by(fd, &one, 1, given(offset), 0, [&] { return libc::pwrite64(fd, data, bytes, offset); });
}
DOVETAIL_CALL ssize_t writev(int fd, const iovec* vectors, int count) {
  return write_by(fd, vectors, count, Transfer::here, 0, [&] { return libc::writev(fd, vectors, count); });
}
DOVETAIL_CALL ssize_t pwritev64(int fd, const iovec* vectors, int count, off64_t offset) {
  return write_by(fd, vectors, count, given(offset), 0, [&] { return libc::pwritev64(fd, vectors, count, offset); });
}
DOVETAIL_CALL ssize_t pwritev64v2(int fd, const iovec* vectors, int count, off64_t offset, int flags) {
  return write_by(fd, vectors, count, offset, flags,
                  [&] { return libc::pwritev64v2(fd, vectors, count, offset, flags); });
}

// What the C library formats it writes by a call that is not seen.
DOVETAIL_CALL int vdprintf(int fd, const char* format, va_list arguments) {
  if (description_of(fd) == nullptr) {
    return libc::vdprintf(fd, format, arguments);
  }
  char* text = nullptr;
  const int bytes = ::vasprintf(&text, format, arguments);
  const ssize_t written = bytes < 0 ? -1 : write(fd, text, static_cast<std::size_t>(bytes));
  std::free(text);
  return written < 0 ? -1 : bytes;
}
DOVETAIL_CALL int dprintf(int fd, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = vdprintf(fd, format, arguments);
  va_end(arguments);
  return result;
}
DOVETAIL_CALL int __vdprintf_chk(int fd, int flag, const char* format, va_list arguments) {
  return description_of(fd) == nullptr ? libc::__vdprintf_chk(fd, flag, format, arguments)
                                       : vdprintf(fd, format, arguments);
}
DOVETAIL_CALL int __dprintf_chk(int fd, int flag, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = __vdprintf_chk(fd, flag, format, arguments);
  va_end(arguments);
  return result;
}

extern "C" {
ssize_t pread(int, void*, std::size_t, off_t) DOVETAIL_ALIAS("pread64");
ssize_t preadv(int, const iovec*, int, off_t) DOVETAIL_ALIAS("preadv64");
ssize_t preadv2(int, const iovec*, int, off_t, int) DOVETAIL_ALIAS("preadv64v2");
ssize_t pwrite(int, const void*, std::size_t, off_t) DOVETAIL_ALIAS("pwrite64");
ssize_t pwritev(int, const iovec*, int, off_t) DOVETAIL_ALIAS("pwritev64");
ssize_t pwritev2(int, const iovec*, int, off_t, int) DOVETAIL_ALIAS("pwritev64v2");
}

// What fortified programs call where the compiler knows the size of the buffer but not of the transfer.
DOVETAIL_CALL ssize_t __read_chk(int fd, void* data, std::size_t bytes, std::size_t room) {
  if (bytes > room) {
    dovetail::base::buffer_overrun();
  }
  return read(fd, data, bytes);
}
DOVETAIL_CALL ssize_t __pread64_chk(int fd, void* data, std::size_t bytes, off64_t offset, std::size_t room) {
  if (bytes > room) {
    dovetail::base::buffer_overrun();
  }
  return pread64(fd, data, bytes, offset);
}
extern "C" ssize_t __pread_chk(int, void*, std::size_t, off_t, std::size_t) DOVETAIL_ALIAS("__pread64_chk");
