#include "own_descriptors.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>

#include "libc.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

constexpr int most = 65536;
constinit std::atomic<bool> own_numbers[most];
constinit std::atomic<int> highest_own{-1};

// Programs take the low ones, and some the very last. The system's table grows with the number.
int first_number() noexcept {
  constexpr rlim_t highest_first = 2048;
  rlimit limit{};
  const rlim_t half = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
  return static_cast<int>(std::min(half, highest_first));
}

}  // namespace

int keep_own(int descriptor) noexcept {
  if (descriptor < 0) {
    return descriptor;
  }
  const KeptErrno kept;
  int number = libc::fcntl64(descriptor, F_DUPFD_CLOEXEC, first_number());
  if (number >= 0) {
    libc::close(descriptor);
  } else {
    number = descriptor;
  }
  if (number < most) {
    int before = highest_own;
    while (before < number && !highest_own.compare_exchange_weak(before, number)) {
    }
    own_numbers[number] = true;
  }
  return number;
}

bool is_own(int descriptor) noexcept { return descriptor >= 0 && descriptor < most && own_numbers[descriptor]; }

void forget_own(int descriptor) noexcept {
  if (is_own(descriptor)) {
    own_numbers[descriptor] = false;
  }
}

void close_own() noexcept {
  for (int number = 0; number <= std::min(highest_own.load(), most - 1); ++number) {
    if (own_numbers[number]) {
      own_numbers[number] = false;
      libc::close(number);
    }
  }
  highest_own = -1;
}

int close_around(unsigned first, unsigned last, int (*close)(unsigned, unsigned, int), int flags) noexcept {
  const int end = std::min(highest_own.load(), most - 1);
  for (int number = static_cast<int>(std::min(first, static_cast<unsigned>(most))); number <= end; ++number) {
    const auto at = static_cast<unsigned>(number);
    if (at > last) {
      break;
    }
    if (!own_numbers[number]) {
      continue;
    }
    const int result = at > first ? close(first, at - 1, flags) : 0;
    if (result != 0) {
      return result;
    }
    if (at == last) {
      return 0;
    }
    first = at + 1;
  }
  return close(first, last, flags);
}

}  // namespace dovetail::interpose::staged
