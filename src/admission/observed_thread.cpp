#include "admission/observed_thread.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>

namespace dovetail::admission {
namespace {

// Not read, write and their kin, which wait for other threads where the file is a pipe or a socket.
constexpr std::array<long, 14> device_calls{SYS_pread64,   SYS_pwrite64,  SYS_preadv,          SYS_pwritev, SYS_preadv2,
                                            SYS_pwritev2,  SYS_fsync,     SYS_fdatasync,       SYS_sync,    SYS_syncfs,
                                            SYS_fallocate, SYS_ftruncate, SYS_sync_file_range, SYS_msync};

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
  std::from_chars(text.data(), text.data() + text.size(), call);
  return std::find(device_calls.begin(), device_calls.end(), call) != device_calls.end() ? State::in_device_call
                                                                                         : State::waits;
}

}  // namespace dovetail::admission
