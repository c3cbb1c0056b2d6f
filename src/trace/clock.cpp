#include "trace/clock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "trace/event.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dovetail::trace {

std::atomic<bool> use_counter{false};

namespace {

bool processor_promises_invariant_counter() noexcept {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned power_management_leaf = 0x80000007;
  constexpr unsigned invariant_counter = 1U << 8;
  return __get_cpuid(power_management_leaf, &a, &b, &c, &d) != 0 && (d & invariant_counter) != 0;
#else
  return false;
#endif
}

bool kernel_uses_counter() noexcept {
  const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[8] = {};
  const ssize_t length = read(file, name, sizeof name - 1);
  close(file);
  return length > 0 && std::strcmp(name, "tsc\n") == 0;
}

}  // namespace

bool counter_is_trustworthy() noexcept {
  static const bool trustworthy = processor_promises_invariant_counter() && kernel_uses_counter();
  return trustworthy;
}

std::int64_t wall_clock_ahead() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto monotonic = static_cast<std::int64_t>(monotonic_nanoseconds());
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec - monotonic;
}

std::string name_of_monotonic_clock() {
  std::string name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> name;
  std::error_code none;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/time", none).string();
  return name.empty() || space.empty() ? name : name + " " + space;
}

ClockPair read_clocks() noexcept {
  ClockPair best;
  std::uint64_t narrowest = std::numeric_limits<std::uint64_t>::max();
  constexpr int tries = 8;
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t before = ticks();
    const std::uint64_t nanoseconds = monotonic_nanoseconds();
    const std::uint64_t width = ticks() - before;
    if (width < narrowest) {
      narrowest = width;
      best = {before + width / 2, nanoseconds};
    }
  }
  return best;
}

ClockScale::ClockScale(ClockPair begin, ClockPair end) noexcept : first_(begin.ticks) {
  if (end.ticks > begin.ticks && end.nanoseconds > begin.nanoseconds) {
    length_ = static_cast<std::int64_t>(end.nanoseconds - begin.nanoseconds);
    nanoseconds_per_tick_ = static_cast<double>(length_) / static_cast<double>(end.ticks - begin.ticks);
  }
}

std::int64_t ClockScale::nanoseconds(std::uint64_t cut_ticks) const noexcept {
  const std::uint64_t passed = (cut_ticks - first_) & time_mask;
  if (passed > time_mask / 2) return 0;
  return std::llround(static_cast<double>(passed) * nanoseconds_per_tick_);
}

}  // namespace dovetail::trace
