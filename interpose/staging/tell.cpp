#include "tell.hpp"

#include <exception>
#include <string_view>

#include "libc.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {

void tell(const std::string& sentence) noexcept {
  const KeptErrno kept;
  try {
    const std::string line = "dovetail: " + sentence + "\n";
    [[maybe_unused]] const ssize_t written = libc::write(STDERR_FILENO, line.data(), line.size());
  } catch (const std::exception&) {
    constexpr std::string_view text = "dovetail: there is no memory to say what is wrong\n";
    [[maybe_unused]] const ssize_t written = libc::write(STDERR_FILENO, text.data(), text.size());
  }
}

}  // namespace dovetail::interpose::staged
