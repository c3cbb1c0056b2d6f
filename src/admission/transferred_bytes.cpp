#include "admission/transferred_bytes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace dovetail::admission {
namespace {

// Kept open: `thread-self` is looked up when it is opened.
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

std::optional<std::uint64_t> transferred_bytes() noexcept {
  static thread_local Counters counters;
  std::array<char, 512> answer{};
  const ssize_t length = counters.descriptor < 0 ? -1 : pread(counters.descriptor, answer.data(), answer.size(), 0);
  if (length <= 0) {
    return std::nullopt;
  }
  const std::string_view text(answer.data(), static_cast<std::size_t>(length));
  const std::uint64_t bytes = value_of(text, "rchar: ") + value_of(text, "wchar: ") - counters.asked;
  // Asking is a read too, which the kernel counts when it is over: not in this answer, but in the next.
  counters.asked += static_cast<std::uint64_t>(length);
  return bytes;
}

}  // namespace dovetail::admission
