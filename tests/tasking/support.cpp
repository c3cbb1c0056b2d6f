#include "support.hpp"

#include <malloc.h>
#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dovetail::test {

std::size_t count_threads() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::size_t allocated_bytes() {
  const struct mallinfo2 information = mallinfo2();
  return information.uordblks + information.hblkhd;
}

Outcome run_in_child(const std::function<int()>& program, const std::string& signal) {
  std::fflush(nullptr);
  int ends[2];
  int input[2];
  if (pipe(ends) != 0 || pipe(input) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe");
  }
  const pid_t child = fork();
  if (child < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (child == 0) {
    close(ends[0]);
    close(input[1]);
    dup2(ends[1], STDERR_FILENO);
    dup2(input[0], STDIN_FILENO);
    close(ends[1]);
    close(input[0]);
    int status = 99;
    try {
      status = program();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "uncaught: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  close(ends[1]);
  close(input[0]);
  bool signalled = signal.empty();
  Outcome outcome{};
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
    outcome.error.append(buffer, static_cast<std::size_t>(got));
    if (!signalled && outcome.error.find(signal) != std::string::npos) {
      signalled = write(input[1], "!", 1) == 1;
    }
  }
  close(ends[0]);
  close(input[1]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

}  // namespace dovetail::test
