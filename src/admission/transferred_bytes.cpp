#include "admission/transferred_bytes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

namespace dovetail::admission {
namespace {

// Of one thread, kept open: `thread-self` is looked up when it is opened.
struct Counters {
  Counters() noexcept : descriptor(open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC)) {}
  ~Counters() {
    if (descriptor >= 0) {
      close(descriptor);
    }
  }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  const int descriptor;
  std::uint64_t asked = 0;  ///< Bytes of the answers so far.
};

std::uint64_t value_of(std::string_view text, std::string_view name) noexcept {
  std::uint64_t value = 0;
  if (const auto at = text.find(name); at != std::string_view::npos) {
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
  }
  return value;
}

}  // namespace

std::optional<std::uint64_t> transferred_by_this_thread() noexcept {
  static thread_local Counters counters;
  std::array<char, 512> buffer{};
  if (counters.descriptor < 0) {
    return std::nullopt;
  }
  const ssize_t length = pread(counters.descriptor, buffer.data(), buffer.size(), 0);
  if (length <= 0) {
    return std::nullopt;
  }
  const std::string_view text(buffer.data(), static_cast<std::size_t>(length));
  // Asking is a read too, which the kernel counts when it is over: not with this answer, but with the next.
  const std::uint64_t asked = std::exchange(counters.asked, counters.asked + text.size());
  return value_of(text, "rchar: ") + value_of(text, "wchar: ") - asked;
}

}  // namespace dovetail::admission
