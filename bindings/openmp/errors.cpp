#include "errors.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/mutex.hpp"

namespace dovetail::omp {
namespace {

using Message = std::array<char, 768>;

struct Handler {
  dovetail_omp_error_handler function = dovetail_omp_abort_on_error;
  void* argument = nullptr;
};

struct Kept {
  int first = 0;
  std::uint64_t count = 0;
  Message message{};
};

// Never destroyed: calls may end while the program does.
struct Reports {
  base::Mutex mutex;
  Handler handler GUARDED_BY(mutex);
  Kept kept GUARDED_BY(mutex);
};
Reports& reports() {
  static auto* const made = new Reports;
  return *made;
}

void describe_file(int descriptor, std::array<char, 320>& text) noexcept {
  std::array<char, 40> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  std::array<char, 256> path{};
  const ssize_t length = readlink(link.data(), path.data(), path.size() - 1);
  if (length > 0) {
    std::snprintf(text.data(), text.size(), "%.*s (descriptor %d)", static_cast<int>(length), path.data(), descriptor);
  } else {
    std::snprintf(text.data(), text.size(), "descriptor %d", descriptor);
  }
}

const char* advice(int error) noexcept {
  switch (error) {
    case EBADF:
      return "keep the descriptor open, for reading or writing as needed, until the task has completed";
    case ENODATA:
      return "the file ends before the bytes that were asked for; give it a result location if it may";
    case ENOSPC:
    case EDQUOT:
      return "make room on the file system";
    case EINVAL:
      return "check offset and sizes, and with O_DIRECT their alignment";
    case ESPIPE:
      return "only files have offsets, not pipes, sockets or terminals";
    case EFAULT:
      return "the buffer must stay valid until the task has completed: a local variable of its body does not";
    default:
      return "give it a result location, or call dovetail_omp_set_error_handler, to handle this in the "
             "program";
  }
}

void describe(const dovetail_omp_error& error, Message& message) noexcept {
  std::array<char, 320> file{};
  if (error.descriptor >= 0 || error.offset >= 0) {
    describe_file(error.descriptor, file);
  }
  std::array<char, 96> place{};
  if (error.offset >= 0) {
    std::snprintf(place.data(), place.size(), " at offset %" PRId64 ", %" PRIu64 " bytes left", error.offset,
                  error.left);
  }
  // strerrordesc_np is the one form that is safe in threads and says nothing about locales.
  const char* words = strerrordesc_np(-error.error);
  std::snprintf(message.data(), message.size(), "%s%s%s%s: %s (errno %d): %s", error.operation,
                file[0] != '\0' ? " of " : "", file.data(), place.data(), words != nullptr ? words : "unknown error",
                -error.error, advice(-error.error));
}

}  // namespace

void report(int* status, dovetail_omp_error error) noexcept {
  if (status != nullptr) {
    int none = 0;
    std::atomic_ref<int>(*status).compare_exchange_strong(none, error.error, std::memory_order_relaxed);
    return;
  }
  Message message{};
  describe(error, message);
  error.message = message.data();
  Handler handler;
  {
    const base::LockGuard lock(reports().mutex);
    handler = reports().handler;
  }
  handler.function(&error, handler.argument);
}

}  // namespace dovetail::omp

using namespace dovetail::omp;

void dovetail_omp_abort_on_error(const dovetail_omp_error* error, void* /*argument*/) {
  std::fprintf(stderr, "dovetail: %s\n", error->message);
  std::abort();
}

void dovetail_omp_keep_errors(const dovetail_omp_error* error, void* /*argument*/) {
  const dovetail::base::LockGuard lock(reports().mutex);
  Kept& kept = reports().kept;
  if (kept.count++ == 0) {
    kept.first = error->error;
    std::snprintf(kept.message.data(), kept.message.size(), "%s", error->message);
  }
}

void dovetail_omp_set_error_handler(dovetail_omp_error_handler handler, void* argument) {
  const dovetail::base::LockGuard lock(reports().mutex);
  reports().handler = handler != nullptr ? Handler{handler, argument} : Handler{};
}

int dovetail_omp_status(char* message, size_t size, uint64_t* count) {
  Reports& all = reports();
  const dovetail::base::LockGuard lock(all.mutex);
  if (message != nullptr && size > 0) {
    const std::size_t length = std::min(size - 1, std::strlen(all.kept.message.data()));
    std::memcpy(message, all.kept.message.data(), length);
    message[length] = '\0';
  }
  if (count != nullptr) {
    *count = all.kept.count;
  }
  return all.kept.first;
}

int dovetail_omp_clear_status(void) {
  const dovetail::base::LockGuard lock(reports().mutex);
  const int first = reports().kept.first;
  reports().kept = {};
  return first;
}
