#include "admission/observed_thread.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace dovetail::admission {
namespace {

constexpr std::array<long, 14> device_calls{SYS_pread64,   SYS_pwrite64,  SYS_preadv,          SYS_pwritev, SYS_preadv2,
                                            SYS_pwritev2,  SYS_fsync,     SYS_fdatasync,       SYS_sync,    SYS_syncfs,
                                            SYS_fallocate, SYS_ftruncate, SYS_sync_file_range, SYS_msync};

// These wait for other threads where the descriptor, their first argument, is that of a pipe or a socket.
constexpr std::array<long, 4> calls_of_any_file{SYS_read, SYS_write, SYS_readv, SYS_writev};

template <std::size_t Count>
bool is_among(const std::array<long, Count>& calls, long call) noexcept {
  return std::find(calls.begin(), calls.end(), call) != calls.end();
}

bool is_on_a_device(int descriptor) noexcept {
  struct stat status{};
  return fstat(descriptor, &status) == 0 && (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode));
}

std::uint64_t value_of(std::string_view text, std::string_view name) noexcept {
  std::uint64_t value = 0;
  if (const auto at = text.find(name); at != std::string_view::npos) {
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
  }
  return value;
}

}  // namespace

// Kept open: `thread-self` is looked up when it is opened.
ObservedThread::ObservedThread() noexcept
    : id_(static_cast<pid_t>(syscall(SYS_gettid))), counters_(open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC)) {}

ObservedThread::~ObservedThread() {
  if (counters_ >= 0) {
    close(counters_);
  }
}

const std::shared_ptr<ObservedThread>& ObservedThread::self() {
  static thread_local const auto thread = std::make_shared<ObservedThread>();
  return thread;
}

// Asking is a read too, which the kernel counts for the thread that asks, when it is over: not with this answer, but with the next.
std::size_t ObservedThread::ask(int descriptor, char* answer, std::size_t most) noexcept {
  const ssize_t length = descriptor < 0 ? -1 : pread(descriptor, answer, most, 0);
  if (length <= 0) {
    return 0;
  }
  self()->asked_.fetch_add(static_cast<std::uint64_t>(length), std::memory_order_relaxed);
  return static_cast<std::size_t>(length);
}

std::optional<std::uint64_t> ObservedThread::transferred_bytes() const noexcept {
  const std::uint64_t asked = asked_.load(std::memory_order_relaxed);
  std::array<char, 512> buffer{};
  const std::string_view text(buffer.data(), ask(counters_, buffer.data(), buffer.size()));
  if (text.empty()) {
    return std::nullopt;
  }
  return value_of(text, "rchar: ") + value_of(text, "wchar: ") - asked;
}

ObservedThread::State ObservedThread::state() const noexcept {
  std::array<char, 256> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "/proc/self/task/%d/syscall", static_cast<int>(id_));
  const int descriptor = open(buffer.data(), O_RDONLY | O_CLOEXEC);
  const std::string_view text(buffer.data(), ask(descriptor, buffer.data(), buffer.size()));
  if (descriptor >= 0) {
    close(descriptor);
  }
  if (text.starts_with("running")) {
    return State::runs;
  }
  long call = -1;
  int descriptor_of_call = -1;
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, call);
  if (end - number.ptr > 3) {
    std::from_chars(number.ptr + 3, end, descriptor_of_call, 16);  // behind " 0x"
  }
  const bool in_device_call =
      is_among(device_calls, call) || (is_among(calls_of_any_file, call) && is_on_a_device(descriptor_of_call));
  return in_device_call ? State::in_device_call : State::waits;
}

}  // namespace dovetail::admission
