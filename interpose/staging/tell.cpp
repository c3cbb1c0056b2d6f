#include "tell.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <csignal>
#include <ctime>
#include <exception>
#include <string_view>

#include "libc.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

constinit dev_t device = 0;
constinit ino_t inode = 0;

// A program may have closed standard error, and have a file of its own by that number. It may be a pipe that is not read, or not now.
bool takes_text() noexcept {
  struct stat64 status{};
  pollfd asked{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return inode != 0 && libc::fstat64(STDERR_FILENO, &status) == 0 && status.st_dev == device &&
         status.st_ino == inode && ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLOUT) != 0;
}

// The program never wrote to a reader that has gone: the signal is not for it. Signals are held.
void write_text(std::string_view text) noexcept {
  sigset_t broken;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  sigset_t pending;
  sigpending(&pending);
  if (libc::write(STDERR_FILENO, text.data(), text.size()) < 0 && errno == EPIPE &&
      sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{};
    sigtimedwait(&broken, nullptr, &at_once);
  }
}

}  // namespace

void find_standard_error() noexcept {
  struct stat64 status{};
  if (libc::fstat64(STDERR_FILENO, &status) == 0) {
    device = status.st_dev;
    inode = status.st_ino;
  }
}

void tell(const std::string& sentence) noexcept {
  const KeptErrno kept;
  const HeldSignals held;
  if (!takes_text()) {
    return;
  }
  try {
    write_text("dovetail: " + sentence + "\n");
  } catch (const std::exception&) {
    write_text("dovetail: there is no memory to say what is wrong\n");
  }
}

}  // namespace dovetail::interpose::staged
