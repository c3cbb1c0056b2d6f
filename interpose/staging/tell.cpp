#include "tell.hpp"

#include <exception>

#include "libc.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {

void tell(const std::string& sentence) noexcept {
  const KeptErrno kept;
  try {
    const std::string line = "dovetail: " + sentence + "\n";
    [[maybe_unused]] const ssize_t written = libc::write(STDERR_FILENO, line.data(), line.size());
  } catch (const std::exception&) {
    // Without memory nothing can be told.
  }
}

}  // namespace dovetail::interpose::staged
