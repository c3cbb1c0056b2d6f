// The streams of the C library. It fills their buffers without a call that could be seen: how far it has read is what its file position says
// when the call is over. What it reads in calls that are not here (fscanf, say) is noted by the next one that is.
#include <cstring>

#include "call.hpp"

using dovetail::prefetching::beginning;
using dovetail::prefetching::Descriptor;
using dovetail::prefetching::forget;
using dovetail::prefetching::opened;
using dovetail::prefetching::Reading;
using dovetail::prefetching::watched;
namespace libc = dovetail::prefetching::libc;

namespace {

/// A call on a stream. Whether it has filled the buffer is seen at the buffer, without a system call.
class Stream {
 public:
  explicit Stream(FILE* file) noexcept : file_(file), number_(fileno_unlocked(file)), descriptor_(watched(number_)) {}
  bool is_watched() const noexcept { return descriptor_ != nullptr; }
  /// Whether a call that reads is of interest. To detection only of a stream that has sought: any other is read in sequence.
  bool is_read() const noexcept {
    return descriptor_ != nullptr &&
           (!descriptor_->is_detected() || descriptor_->stream.load(std::memory_order_relaxed) != 0);
  }

  /// Before the call. `wanted`: bytes that it reads at most; what the buffer has of them takes no time that is worth a look at the clock.
  void look(std::size_t wanted) noexcept {
    at_ = file_->_IO_read_ptr;
    end_ = file_->_IO_read_end;
    if (descriptor_->stream.load(std::memory_order_relaxed) == 0) {
      stay();
    }
    begun_ = wanted > static_cast<std::size_t>(end_ - at_) ? beginning() : 0;
  }
  /// After it.
  void note() noexcept {
    if (at_ == end_ || file_->_IO_read_ptr <= at_ || file_->_IO_read_end != end_) {
      note_all(begun_ != 0 ? begun_ : beginning());
    }
  }
  /// What has been read since the last time, in a call that began then.
  void note_all(std::uint64_t begun) noexcept {
    const int error = errno;
    const std::uint64_t before = descriptor_->stream.load(std::memory_order_relaxed);
    const off64_t now = position();
    if (before != 0 && now >= 0 && static_cast<std::uint64_t>(now) > before - 1) {
      Reading(number_, *descriptor_, begun).read(before - 1, static_cast<std::uint64_t>(now) - (before - 1));
    }
    descriptor_->stream.store(now < 0 ? 0 : static_cast<std::uint64_t>(now) + 1, std::memory_order_relaxed);
    errno = error;
  }
  /// The position is somewhere else. What is in the buffer now was read there, by a call that began then.
  void moved(std::uint64_t begun) noexcept {
    const int error = errno;
    const off64_t now = position();
    const std::uint64_t before = descriptor_->stream.load(std::memory_order_relaxed);
    const auto held = file_->_IO_read_end - file_->_IO_read_base;
    if (now >= held && held > 0 && static_cast<std::uint64_t>(now) + 1 != before) {
      Reading(number_, *descriptor_, begun)
          .read(static_cast<std::uint64_t>(now - held), static_cast<std::uint64_t>(held));
    }
    descriptor_->stream.store(now < 0 ? 0 : static_cast<std::uint64_t>(now) + 1, std::memory_order_relaxed);
    errno = error;
  }

 private:
  // Of the descriptor. Detection asks the stream, which costs no system call: it knows once it has sought.
  off64_t position() const noexcept {
    return descriptor_->is_detected() ? file_->_offset : Reading::lseek64_of(number_);
  }
  void stay() noexcept {
    const int error = errno;
    const off64_t now = position();
    descriptor_->stream.store(now < 0 ? 0 : static_cast<std::uint64_t>(now) + 1, std::memory_order_relaxed);
    errno = error;
  }

  FILE* file_;
  int number_;
  Descriptor* descriptor_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t begun_ = 0;
};

// The length of a line is not known before it is read.
constexpr std::size_t a_line = SIZE_MAX;

// Of what no memory can hold, the greatest number.
std::size_t product(std::size_t size, std::size_t count) noexcept {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(size, count, &bytes) ? SIZE_MAX : bytes;
}

template <class Call>
auto streamed(FILE* file, std::size_t wanted, const Call& call) {
  Stream stream(file);
  if (!stream.is_read()) [[likely]] {
    return call();
  }
  stream.look(wanted);
  const auto result = call();
  stream.note();
  return result;
}

template <class Call>
auto sought(FILE* file, const Call& call) {
  Stream stream(file);
  if (!stream.is_watched()) [[likely]] {
    return call();
  }
  stream.note_all(beginning());
  const std::uint64_t begun = beginning();
  const auto result = call();
  stream.moved(begun);
  return result;
}

}  // namespace

DOVETAIL_CALL FILE* fopen64(const char* path, const char* mode) {
  FILE* file = libc::fopen64(path, mode);
  if (file != nullptr) {
    const bool reads_only = mode[0] == 'r' && std::strchr(mode, '+') == nullptr;
    opened(fileno_unlocked(file), AT_FDCWD, path, reads_only ? O_RDONLY : O_RDWR);
  }
  return file;
}
DOVETAIL_CALL FILE* freopen64(const char* path, const char* mode, FILE* file) {
  if (file != nullptr) {
    forget(fileno_unlocked(file));
  }
  FILE* given = libc::freopen64(path, mode, file);
  if (given != nullptr) {
    opened(fileno_unlocked(given));
  }
  return given;
}
DOVETAIL_CALL int fclose(FILE* file) {
  Stream stream(file);
  if (stream.is_watched()) {
    stream.note_all(beginning());
  }
  forget(fileno_unlocked(file));
  return libc::fclose(file);
}

DOVETAIL_CALL std::size_t fread(void* data, std::size_t size, std::size_t count, FILE* file) {
  return streamed(file, product(size, count), [&] { return libc::fread(data, size, count, file); });
}
DOVETAIL_CALL std::size_t fread_unlocked(void* data, std::size_t size, std::size_t count, FILE* file) {
  return streamed(file, product(size, count), [&] { return libc::fread_unlocked(data, size, count, file); });
}
DOVETAIL_CALL char* fgets(char* line, int room, FILE* file) {
  return streamed(file, a_line, [&] { return libc::fgets(line, room, file); });
}
DOVETAIL_CALL char* fgets_unlocked(char* line, int room, FILE* file) {
  return streamed(file, a_line, [&] { return libc::fgets_unlocked(line, room, file); });
}
DOVETAIL_CALL ssize_t getdelim(char** line, std::size_t* room, int delimiter, FILE* file) {
  return streamed(file, a_line, [&] { return libc::getdelim(line, room, delimiter, file); });
}
DOVETAIL_CALL ssize_t getline(char** line, std::size_t* room, FILE* file) {
  return streamed(file, a_line, [&] { return libc::getline(line, room, file); });
}
DOVETAIL_CALL int fgetc(FILE* file) {
  return streamed(file, 1, [&] { return libc::fgetc(file); });
}
DOVETAIL_CALL int fgetc_unlocked(FILE* file) {
  return streamed(file, 1, [&] { return libc::fgetc_unlocked(file); });
}
DOVETAIL_CALL int fseek(FILE* file, long offset, int whence) {
  return sought(file, [&] { return libc::fseek(file, offset, whence); });
}
DOVETAIL_CALL int fseeko64(FILE* file, off64_t offset, int whence) {
  return sought(file, [&] { return libc::fseeko64(file, offset, whence); });
}
DOVETAIL_CALL int fsetpos64(FILE* file, const fpos64_t* position) {
  return sought(file, [&] { return libc::fsetpos64(file, position); });
}
DOVETAIL_CALL void rewind(FILE* file) {
  sought(file, [&] {
    libc::rewind(file);
    return 0;
  });
}

extern "C" {
FILE* fopen(const char*, const char*) DOVETAIL_ALIAS("fopen64");
FILE* freopen(const char*, const char*, FILE*) DOVETAIL_ALIAS("freopen64");
ssize_t __getdelim(char**, std::size_t*, int, FILE*) DOVETAIL_ALIAS("getdelim");
int getc(FILE*) DOVETAIL_ALIAS("fgetc");
int _IO_getc(FILE*) DOVETAIL_ALIAS("fgetc");
int getc_unlocked(FILE*) DOVETAIL_ALIAS("fgetc_unlocked");
int fseeko(FILE*, off_t, int) DOVETAIL_ALIAS("fseeko64");
int fsetpos(FILE*, const fpos_t*) DOVETAIL_ALIAS("fsetpos64");
}

// What fortified programs call. An overrun is the C library's to tell.

DOVETAIL_CALL std::size_t __fread_chk(void* data, std::size_t room, std::size_t size, std::size_t count, FILE* file) {
  if (product(size, count) > room) {
    dovetail::base::buffer_overrun();
  }
  return fread(data, size, count, file);
}
DOVETAIL_CALL std::size_t __fread_unlocked_chk(void* data, std::size_t room, std::size_t size, std::size_t count,
                                               FILE* file) {
  if (product(size, count) > room) {
    dovetail::base::buffer_overrun();
  }
  return fread_unlocked(data, size, count, file);
}
DOVETAIL_CALL char* __fgets_chk(char* line, std::size_t size, int room, FILE* file) {
  if (room > 0 && static_cast<std::size_t>(room) > size) {
    dovetail::base::buffer_overrun();
  }
  return fgets(line, room, file);
}
DOVETAIL_CALL char* __fgets_unlocked_chk(char* line, std::size_t size, int room, FILE* file) {
  if (room > 0 && static_cast<std::size_t>(room) > size) {
    dovetail::base::buffer_overrun();
  }
  return fgets_unlocked(line, room, file);
}
