// Runs a command for which io_uring does not exist or is forbidden, as in many containers.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "errno_names.hpp"

namespace {

constexpr const char* usage =
    "usage: dovetail-without-io-uring [--errno NAME] COMMAND [ARGUMENT...]\n"
    "Runs COMMAND, and what it starts, with io_uring_setup, io_uring_enter and io_uring_register failing with\n"
    "the errno NAME (EPERM if not given; ENOSYS is what an old kernel says).\n"
    "Exit status: COMMAND's; 127 not found, 126 cannot be run, 77 this kernel takes no seccomp filter, 2 bad usage.\n";

int refuse(const std::string& message) {
  std::fprintf(stderr, "dovetail-without-io-uring: %s\n%s", message.c_str(), usage);
  return 2;
}

bool forbid_io_uring(int error) {
  // The architecture is not looked at: these three numbers are the same wherever Linux offers io_uring, except on Alpha.
  // The mask takes off the bit with which x86-64 marks calls of the x32 ABI.
  constexpr unsigned int x32_bit = 0x40000000;
  static_assert(SYS_io_uring_register == SYS_io_uring_setup + 2);
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~x32_bit),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_io_uring_setup, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, SYS_io_uring_register, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned int>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {.len = sizeof(program) / sizeof(program[0]), .filter = program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

int main(int count, char** arguments) {
  int error = EPERM;
  int first = 1;
  if (first < count && std::strcmp(arguments[first], "--errno") == 0) {
    if (first + 1 == count) {
      return refuse("--errno needs a name");
    }
    const auto parsed = dovetail::devices::parse_errno(arguments[first + 1]);
    if (!parsed) {
      return refuse(std::string("'") + arguments[first + 1] + "' is no errno: give a name such as ENOSYS");
    }
    error = *parsed;
    first += 2;
  }
  if (first < count && std::strcmp(arguments[first], "--") == 0) {
    ++first;
  } else if (first < count && arguments[first][0] == '-') {
    return refuse(std::string("unknown option '") + arguments[first] + "'");
  }
  if (first >= count) {
    return refuse("no COMMAND given");
  }
  if (!forbid_io_uring(error)) {
    std::fprintf(stderr, "dovetail-without-io-uring: cannot install the seccomp filter: %s\n", std::strerror(errno));
    return 77;
  }
  execvp(arguments[first], arguments + first);
  const int failure = errno;
  std::fprintf(stderr, "dovetail-without-io-uring: %s: %s\n", arguments[first], std::strerror(failure));
  return failure == ENOENT ? 127 : 126;
}
