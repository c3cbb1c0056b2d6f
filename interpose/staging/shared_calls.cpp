// The calls that give descriptors to other processes.
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "libc.hpp"
#include "opening.hpp"
#include "program_files.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

int settle_sent(const msghdr* message) noexcept {
  if (no_files() || !is_active() || message == nullptr || message->msg_control == nullptr) {
    return 0;
  }
  // CMSG_NXTHDR takes no constant one.
  auto* const all = const_cast<msghdr*>(message);
  for (cmsghdr* each = CMSG_FIRSTHDR(all); each != nullptr; each = CMSG_NXTHDR(all, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(each) + i * sizeof descriptor, sizeof descriptor);
      if (const int error = settle_descriptor(descriptor, "another process is given its descriptor")) {
        return error;
      }
    }
  }
  return 0;
}

}  // namespace

DOVETAIL_CALL ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  const int error = settle_sent(message);
  return error != 0 ? fail(error) : libc::sendmsg(socket, message, flags);
}
DOVETAIL_CALL int sendmmsg(int socket, mmsghdr* messages, unsigned count, int flags) {
  for (unsigned i = 0; i < count && !no_files(); ++i) {
    if (const int error = settle_sent(&messages[i].msg_hdr)) {
      return fail(error);
    }
  }
  return libc::sendmmsg(socket, messages, count, flags);
}
