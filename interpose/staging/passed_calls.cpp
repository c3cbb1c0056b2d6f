// The calls that a staged file is given up for, and those that move bytes between files.
#include <dirent.h>
#include <linux/fs.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "descriptors.hpp"
#include "libc.hpp"
#include "opening.hpp"
#include "program_files.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

constexpr std::size_t most_at_once = std::size_t{1} << 20;

bool is_regular(int fd) noexcept {
  struct stat64 status{};
  return libc::fstat64(fd, &status) == 0 && S_ISREG(status.st_mode);
}

bool is_same(int one, int other) noexcept {
  struct stat64 first{};
  struct stat64 second{};
  return libc::fstat64(one, &first) == 0 && libc::fstat64(other, &second) == 0 &&
         identity_of(first) == identity_of(second);
}

// From one descriptor to another, by the calls of this library: as many as one piece of memory takes. Null offsets are file positions.
ssize_t copy_piece(int in, off64_t* in_offset, int out, off64_t* out_offset, std::span<char> memory) {
  const off64_t from = in_offset != nullptr ? *in_offset : lseek64(in, 0, SEEK_CUR);
  const ssize_t got = from < 0 ? -1 : pread64(in, memory.data(), memory.size(), from);
  if (got <= 0) {
    return got;
  }
  const auto length = static_cast<std::size_t>(got);
  const ssize_t put =
      out_offset != nullptr ? pwrite64(out, memory.data(), length, *out_offset) : write(out, memory.data(), length);
  if (put > 0) {
    if (in_offset != nullptr) {
      *in_offset += put;
    } else {
      lseek64(in, from + put, SEEK_SET);
    }
    if (out_offset != nullptr) {
      *out_offset += put;
    }
  }
  return put;
}

// All of it, up to the end of what is read: programs do not expect less of regular files.
ssize_t copy_bytes(int in, off64_t* in_offset, int out, off64_t* out_offset, std::size_t bytes) {
  std::vector<char> memory;
  try {
    memory.resize(std::min(bytes, most_at_once));
  } catch (const std::exception&) {
    return fail(ENOMEM);
  }
  std::size_t done = 0;
  ssize_t moved = 1;
  while (done < bytes && moved > 0) {
    moved = copy_piece(in, in_offset, out, out_offset, {memory.data(), std::min(bytes - done, memory.size())});
    done += moved > 0 ? static_cast<std::size_t>(moved) : 0;
  }
  return done != 0 ? static_cast<ssize_t>(done) : moved;
}

// What the system would refuse it may refuse itself.
bool may_copy(int in, int out) noexcept {
  const int from = libc::fcntl64(in, F_GETFL);
  const int to = libc::fcntl64(out, F_GETFL);
  return from >= 0 && to >= 0 && (from & O_ACCMODE) != O_WRONLY && (to & O_ACCMODE) != O_RDONLY && (to & O_APPEND) == 0;
}

// The descriptor of the file that is cloned; -1: it is another request.
int cloned(unsigned long request, const void* argument) noexcept {
  if (request == FICLONE) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  }
  return request == FICLONERANGE && argument != nullptr
             ? static_cast<int>(static_cast<const file_clone_range*>(argument)->src_fd)
             : -1;
}

}  // namespace

DOVETAIL_CALL void* mmap64(void* address, std::size_t bytes, int protection, int flags, int fd,
                           off64_t offset) noexcept {
  if ((flags & MAP_ANONYMOUS) == 0 && fd >= 0) {
    if (const int error = settle_descriptor(fd, "it was mapped (mmap)")) {
      errno = error;
      return MAP_FAILED;
    }
  }
  return libc::mmap64(address, bytes, protection, flags, fd, offset);
}

DOVETAIL_CALL ssize_t copy_file_range(int in, off64_t* in_offset, int out, off64_t* out_offset, std::size_t bytes,
                                      unsigned flags) {
  const auto plain = [&] { return libc::copy_file_range(in, in_offset, out, out_offset, bytes, flags); };
  const bool ours = description_of(in) != nullptr || description_of(out) != nullptr;
  if (!ours || bytes == 0 || flags != 0 || !is_regular(in) || !is_regular(out) || !may_copy(in, out)) {
    return plain();
  }
  if (is_same(in, out)) {
    const int error = settle_descriptor(out, "a part of it was copied within it");
    return error != 0 ? fail(error) : plain();
  }
  return copy_bytes(in, in_offset, out, out_offset, bytes);
}

DOVETAIL_CALL ssize_t sendfile64(int out, int in, off64_t* offset, std::size_t bytes) noexcept {
  const bool ours = description_of(in) != nullptr || description_of(out) != nullptr;
  if (ours && bytes != 0 && is_regular(in) && may_copy(in, out) && !is_same(in, out)) {
    const NotCancelled whole;  // it is declared as a call that is no place for that
    return copy_bytes(in, offset, out, nullptr, bytes);
  }
  int error = 0;
  if (ours) {
    constexpr const char* why = "the system copies to it, or from it (sendfile)";
    error = settle_descriptor(in, why);
    error = error != 0 ? error : settle_descriptor(out, why);
  }
  return error != 0 ? fail(error) : libc::sendfile64(out, in, offset, bytes);
}

DOVETAIL_CALL ssize_t splice(int in, off64_t* in_offset, int out, off64_t* out_offset, std::size_t bytes,
                             unsigned flags) {
  int error = settle_descriptor(in, "it was spliced");
  error = error != 0 ? error : settle_descriptor(out, "it was spliced");
  return error != 0 ? fail(error) : libc::splice(in, in_offset, out, out_offset, bytes, flags);
}

DOVETAIL_CALL int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (no_files() || request == FIOCLEX || request == FIONCLEX || request == TCGETS) {
    return libc::ioctl(fd, request, argument);
  }
  const int source = cloned(request, argument);
  int error = source >= 0 ? settle_descriptor(source, "it was cloned") : 0;
  {
    const DescriptionInUse description =
        error == 0 && source >= 0 && !is_same(fd, source) ? description_of(fd) : DescriptionInUse();
    const ProgramFile::Use use = description != nullptr ? description->file->use() : ProgramFile::Use();
    if (description != nullptr && !use.is_staged()) {
      // cp tries to clone a file before it writes it, which most file systems cannot: it may become staged after that.
      return libc::ioctl(fd, request, argument);
    }
  }
  error = error != 0 ? error : settle_descriptor(fd, "ioctl was called");
  return error != 0 ? fail(error) : libc::ioctl(fd, request, argument);
}

// The C library's own threads make these.
DOVETAIL_CALL int aio_read64(aiocb64* request) noexcept {
  const int error = settle_descriptor(request->aio_fildes, "it is read asynchronously (aio_read)");
  return error != 0 ? fail(error) : libc::aio_read64(request);
}
DOVETAIL_CALL int aio_write64(aiocb64* request) noexcept {
  const int error = settle_descriptor(request->aio_fildes, "it is written asynchronously (aio_write)");
  return error != 0 ? fail(error) : libc::aio_write64(request);
}
DOVETAIL_CALL int aio_fsync64(int operation, aiocb64* request) noexcept {
  const int error = settle_descriptor(request->aio_fildes, "it is synchronized asynchronously (aio_fsync)");
  return error != 0 ? fail(error) : libc::aio_fsync64(operation, request);
}
DOVETAIL_CALL int lio_listio64(int mode, aiocb64* const* requests, int count, sigevent* event) noexcept {
  for (int i = 0; i < count; ++i) {
    const int error = requests[i] == nullptr
                          ? 0
                          : settle_descriptor(requests[i]->aio_fildes, "it is used asynchronously (lio_listio)");
    if (error != 0) {
      return fail(error);
    }
  }
  return libc::lio_listio64(mode, requests, count, event);
}

extern "C" {
void* mmap(void*, std::size_t, int, int, int, off_t) noexcept DOVETAIL_ALIAS("mmap64");
ssize_t sendfile(int, int, off_t*, std::size_t) noexcept DOVETAIL_ALIAS("sendfile64");
int aio_read(aiocb*) noexcept DOVETAIL_ALIAS("aio_read64");
int aio_write(aiocb*) noexcept DOVETAIL_ALIAS("aio_write64");
int aio_fsync(int, aiocb*) noexcept DOVETAIL_ALIAS("aio_fsync64");
int lio_listio(int, aiocb* const*, int, sigevent*) noexcept DOVETAIL_ALIAS("lio_listio64");
}
