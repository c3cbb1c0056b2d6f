// The calls that read, and those that map and move.
#include "call.hpp"

using dovetail::prefetching::Descriptor;
using dovetail::prefetching::detections;
using dovetail::prefetching::nanoseconds;
using dovetail::prefetching::Observation;
using dovetail::prefetching::Reading;
using dovetail::prefetching::recorder;
using dovetail::prefetching::watched;
namespace libc = dovetail::prefetching::libc;

namespace {

// The stream of the C library, if there is one, is not what reads.
void by_descriptor(Descriptor& descriptor) noexcept { descriptor.stream.store(0, std::memory_order_relaxed); }

// Never inlined, so that a call that is of no interest saves nothing on the stack.
[[gnu::noinline]] ssize_t noted_read(Descriptor& descriptor, int fd, void* data, std::size_t bytes) {
  Reading reading(fd, descriptor);
  by_descriptor(descriptor);
  const ssize_t done = libc::read(fd, data, bytes);
  reading.read_here(done);
  return done;
}

[[gnu::noinline]] ssize_t noted_pread(Descriptor& descriptor, int fd, void* data, std::size_t bytes, off64_t offset) {
  Reading reading(fd, descriptor);
  const ssize_t done = libc::pread64(fd, data, bytes, offset);
  reading.read_at(offset, done);
  return done;
}

}  // namespace

DOVETAIL_CALL ssize_t read(int fd, void* data, std::size_t bytes) {
  if (Descriptor* descriptor = watched(fd)) [[unlikely]] {
    return noted_read(*descriptor, fd, data, bytes);
  }
  return libc::read(fd, data, bytes);
}

DOVETAIL_CALL ssize_t pread64(int fd, void* data, std::size_t bytes, off64_t offset) {
  if (Descriptor* descriptor = watched(fd)) [[unlikely]] {
    return noted_pread(*descriptor, fd, data, bytes, offset);
  }
  return libc::pread64(fd, data, bytes, offset);
}

DOVETAIL_CALL ssize_t readv(int fd, const iovec* vectors, int count) {
  if (Descriptor* descriptor = watched(fd)) [[unlikely]] {
    Reading reading(fd, *descriptor);
    by_descriptor(*descriptor);
    const ssize_t done = libc::readv(fd, vectors, count);
    reading.read_here(done);
    return done;
  }
  return libc::readv(fd, vectors, count);
}

DOVETAIL_CALL ssize_t preadv64(int fd, const iovec* vectors, int count, off64_t offset) {
  if (Descriptor* descriptor = watched(fd)) [[unlikely]] {
    Reading reading(fd, *descriptor);
    const ssize_t done = libc::preadv64(fd, vectors, count, offset);
    reading.read_at(offset, done);
    return done;
  }
  return libc::preadv64(fd, vectors, count, offset);
}

// With an offset of -1 it uses the file position.
DOVETAIL_CALL ssize_t preadv64v2(int fd, const iovec* vectors, int count, off64_t offset, int flags) {
  if (Descriptor* descriptor = watched(fd)) [[unlikely]] {
    Reading reading(fd, *descriptor);
    const ssize_t done = libc::preadv64v2(fd, vectors, count, offset, flags);
    if (offset == -1) {
      by_descriptor(*descriptor);
      reading.read_here(done);
    } else {
      reading.read_at(offset, done);
    }
    return done;
  }
  return libc::preadv64v2(fd, vectors, count, offset, flags);
}

DOVETAIL_CALL off64_t lseek64(int fd, off64_t offset, int whence) noexcept {
  Descriptor* descriptor = watched(fd);
  if (descriptor == nullptr) [[likely]] {
    return libc::lseek64(fd, offset, whence);
  }
  by_descriptor(*descriptor);
  const off64_t now = libc::lseek64(fd, offset, whence);
  detections[fd].position.store(now < 0 ? 0 : static_cast<std::uint64_t>(now) + 1, std::memory_order_relaxed);
  return now;
}

DOVETAIL_CALL void* mmap64(void* address, std::size_t bytes, int protection, int flags, int fd,
                           off64_t offset) noexcept {
  void* mapped = libc::mmap64(address, bytes, protection, flags, fd, offset);
  if (mapped != MAP_FAILED && (flags & MAP_ANONYMOUS) == 0 && fd >= 0 && recorder.on() && !recorder.traces()) {
    if (Descriptor* descriptor = watched(fd)) {
      const std::uint64_t now = nanoseconds();
      recorder.note(*descriptor, Observation::Kind::map, static_cast<std::uint64_t>(offset), bytes, now, now);
    }
  }
  return mapped;
}

namespace {

// Of a call that moves bytes out of a file, from `offset` on, or from the file position where there is no offset.
template <class Call>
ssize_t moved(int in, const off64_t* offset, const Call& call) {
  Descriptor* descriptor = watched(in);
  if (descriptor == nullptr) [[likely]] {
    return call();
  }
  Reading reading(in, *descriptor);
  if (offset == nullptr) {
    by_descriptor(*descriptor);
  }
  const ssize_t done = call();
  // The call has moved the offset on; if it failed, the address may be a bad one.
  if (offset == nullptr) {
    reading.read_here(done);
  } else if (done > 0) {
    reading.read_at(*offset - done, done);
  }
  return done;
}

}  // namespace

DOVETAIL_CALL ssize_t sendfile64(int out, int in, off64_t* offset, std::size_t bytes) noexcept {
  return moved(in, offset, [&] { return libc::sendfile64(out, in, offset, bytes); });
}

DOVETAIL_CALL ssize_t copy_file_range(int in, off64_t* in_offset, int out, off64_t* out_offset, std::size_t bytes,
                                      unsigned flags) {
  return moved(in, in_offset, [&] { return libc::copy_file_range(in, in_offset, out, out_offset, bytes, flags); });
}

DOVETAIL_CALL ssize_t splice(int in, off64_t* in_offset, int out, off64_t* out_offset, std::size_t bytes,
                             unsigned flags) {
  return moved(in, in_offset, [&] { return libc::splice(in, in_offset, out, out_offset, bytes, flags); });
}

// Where a file offset has 64 bits anyway, the two names of a call are one function.
static_assert(sizeof(off_t) == 8);
extern "C" {
ssize_t pread(int, void*, std::size_t, off_t) DOVETAIL_ALIAS("pread64");
ssize_t preadv(int, const iovec*, int, off_t) DOVETAIL_ALIAS("preadv64");
ssize_t preadv2(int, const iovec*, int, off_t, int) DOVETAIL_ALIAS("preadv64v2");
off_t lseek(int, off_t, int) noexcept DOVETAIL_ALIAS("lseek64");
void* mmap(void*, std::size_t, int, int, int, off_t) noexcept DOVETAIL_ALIAS("mmap64");
ssize_t sendfile(int, int, off_t*, std::size_t) noexcept DOVETAIL_ALIAS("sendfile64");
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
