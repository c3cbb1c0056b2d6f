#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace dovetail::tiom {
namespace {

class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int end(int which) const noexcept { return ends_[which]; }
  void close_end(int which) noexcept {
    if (ends_[which] >= 0) {
      ::close(ends_[which]);
      ends_[which] = -1;
    }
  }
  /// Takes what is there; closes the reading end when nothing can follow.
  void drain(std::string& into) {
    char data[4096];
    const ssize_t got = ::read(ends_[0], data, sizeof(data));
    if (got > 0) {
      into.append(data, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      close_end(0);
    }
  }

 private:
  int ends_[2] = {-1, -1};
};

pid_t start(const std::vector<std::string>& arguments, const Pipe& output, const Pipe& errors) {
  std::vector<char*> pointers = {const_cast<char*>("dovetail-tiom")};
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have died before that took effect.
    if (getppid() != parent || dup2(output.end(1), STDOUT_FILENO) < 0 || dup2(errors.end(1), STDERR_FILENO) < 0) {
      _exit(127);
    }
    execv("/proc/self/exe", pointers.data());
    _exit(127);
  }
  return child;
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& arguments, double seconds, const std::function<bool()>& tick) {
  Pipe output;
  Pipe errors;
  const pid_t child = start(arguments, output, errors);
  output.close_end(1);
  errors.close_end(1);
  ChildResult result;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  bool killed = false;
  while (output.end(0) >= 0 || errors.end(0) >= 0) {
    pollfd ends[2] = {{output.end(0), POLLIN, 0}, {errors.end(0), POLLIN, 0}};
    constexpr int tick_ms = 200;
    static_cast<void>(poll(ends, 2, tick_ms));
    if (ends[0].revents != 0) {
      output.drain(result.output);
    }
    if (ends[1].revents != 0) {
      errors.drain(result.errors);
    }
    if (!killed) {
      result.timed_out = std::chrono::steady_clock::now() > deadline;
      killed = result.timed_out || !tick();
      if (killed) {
        kill(child, SIGKILL);
      }
    }
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace dovetail::tiom
