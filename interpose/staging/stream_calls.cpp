// Streams fill and empty their buffers by calls that are not seen: what they lead to is given up.
#include <cerrno>
#include <cstring>

#include "descriptors.hpp"
#include "libc.hpp"
#include "opening.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

constexpr const char* opened_stream = "a stream was opened";

// One that empties the file must find it drained: the drain would bring back what it has emptied.
int settle_before(const char* path, const char* mode) noexcept {
  return mode != nullptr && mode[0] == 'w' ? settle_path(AT_FDCWD, path, opened_stream) : 0;
}

// Another process may have begun to stage it until it was open.
FILE* settle_stream(FILE* stream) {
  if (stream == nullptr) {
    return nullptr;
  }
  const int descriptor = fileno_unlocked(stream);
  note_stream(descriptor);
  const int error = settle_opened(descriptor, opened_stream);
  if (error == 0) {
    return stream;
  }
  fclose(stream);
  errno = error;
  return nullptr;
}

}  // namespace

DOVETAIL_CALL FILE* fopen64(const char* path, const char* mode) {
  if (const int error = settle_before(path, mode)) {
    errno = error;
    return nullptr;
  }
  return settle_stream(libc::fopen64(path, mode));
}
DOVETAIL_CALL FILE* freopen64(const char* path, const char* mode, FILE* stream) {
  if (const int error = settle_before(path, mode)) {
    errno = error;
    return nullptr;
  }
  if (stream != nullptr && fileno_unlocked(stream) >= 0) {
    remove_description(fileno_unlocked(stream));
    forget_stream(fileno_unlocked(stream));
  }
  return settle_stream(libc::freopen64(path, mode, stream));
}
DOVETAIL_CALL FILE* fdopen(int fd, const char* mode) noexcept {
  if (const int error = settle_descriptor(fd, "a stream was made of its descriptor (fdopen)")) {
    errno = error;
    return nullptr;
  }
  FILE* const stream = libc::fdopen(fd, mode);
  if (stream != nullptr) {
    note_stream(fd);
  }
  return stream;
}
DOVETAIL_CALL int fclose(FILE* stream) {
  const int descriptor = fileno_unlocked(stream);
  remove_description(descriptor);
  forget_stream(descriptor);
  return libc::fclose(stream);
}

extern "C" {
FILE* fopen(const char*, const char*) DOVETAIL_ALIAS("fopen64");
FILE* freopen(const char*, const char*, FILE*) DOVETAIL_ALIAS("freopen64");
}
