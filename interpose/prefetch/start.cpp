// What happens when the library is loaded into a program. Nothing that goes wrong here is told: the program runs as it is.
#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "call.hpp"
#include "helper.hpp"

namespace dovetail::prefetching {
namespace {

// Of the memory that `dovetail` has made, which no one can shorten.
std::byte* mapped(const char* path, std::uint64_t& bytes) noexcept {
  const int fd = libc::open64(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) {
    return nullptr;
  }
  struct stat status{};
  void* memory = MAP_FAILED;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &status) == 0 && status.st_size > 0) {
    bytes = static_cast<std::uint64_t>(status.st_size);
    memory = libc::mmap64(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  libc::close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// How many filters of system calls hold for this process.
long filters() noexcept {
  const int fd = libc::open64("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  char text[4096];
  const ssize_t bytes = libc::read(fd, text, sizeof text - 1);
  libc::close(fd);
  text[bytes < 0 ? 0 : bytes] = '\0';
  const char* found = std::strstr(text, "\nSeccomp_filters:");
  return found == nullptr ? 0 : std::strtol(found + 17, nullptr, 10);
}

bool is_set(const char* path) noexcept { return path != nullptr && *path != '\0'; }

// Whether there is memory by this path, and what it holds can be used.
template <class Start>
bool starts(const char* path, const Start& start) noexcept {
  std::uint64_t bytes = 0;
  std::byte* memory = is_set(path) ? mapped(path, bytes) : nullptr;
  if (memory != nullptr && !start(memory, bytes)) {
    munmap(memory, bytes);
    return false;
  }
  return memory != nullptr;
}

void start() noexcept {
  const char* log = secure_getenv("DOVETAIL_PREFETCH_LOG");
  const char* plan = secure_getenv("DOVETAIL_PREFETCH_PLAN");
  const char* advice = secure_getenv("DOVETAIL_PREFETCH_ADVICE");
  const char* detection = secure_getenv("DOVETAIL_PREFETCH_DETECTION");
  if (!is_set(log) && !is_set(plan) && !is_set(advice) && !is_set(detection)) {
    return;
  }
  // One that `dovetail` was not under may end the process for a call that it would not have made.
  const char* usual = secure_getenv("DOVETAIL_PREFETCH_FILTERS");
  if (filters() != (usual == nullptr ? 0 : std::strtol(usual, nullptr, 10))) {
    return;
  }
  bool used = starts(plan, [](std::byte* memory, std::uint64_t bytes) { return replayer.start(memory, bytes); });
  used = starts(advice, [](std::byte* memory, std::uint64_t bytes) { return guide.start(memory, bytes); }) || used;
  used =
      starts(detection, [](std::byte* memory, std::uint64_t bytes) { return predictor.start(memory, bytes); }) || used;
  // A trace of a program that is not followed would be an observation.
  const bool observes = !is_set(plan) && !is_set(advice) && !is_set(detection);
  const bool records = (used || observes) && starts(log, [](std::byte* memory, std::uint64_t bytes) {
                         return recorder.start(memory, bytes);
                       });
  if (records && used) {
    recorder.trace();
  }
  used = used || records;
  if (used) {
    pthread_atfork(nullptr, nullptr, [] {
      helper.forget();
      predictor.forked();
    });
    active.store(true, std::memory_order_release);
  }
}

[[gnu::constructor(101)]] void start_with_the_program() noexcept {
  const int error = errno;
  find_all();
  start();
  errno = error;
}

}  // namespace
}  // namespace dovetail::prefetching
