#include "drawing.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace dovetail::tiom {
namespace {

std::string script_path() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return (program.parent_path().parent_path() / "share" / "dovetail" / "tiom" / "report.py").string();
}

std::string interpreter() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread runs yet or any more, and nothing changes the environment.
  const char* const chosen = std::getenv("DOVETAIL_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

int run(const std::string& python, const std::string& script, const std::string& folder) {
  const pid_t child = fork();
  if (child == 0) {
    // Standard output belongs to the result.
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execlp(python.c_str(), python.c_str(), script.c_str(), folder.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

}  // namespace

void draw_maps(const std::string& folder) {
  const std::string script = script_path();
  if (run(interpreter(), script, folder) != 0) {
    std::cerr << "dovetail-tiom: no maps were drawn. With a Python that has matplotlib: python3 " << script << ' '
              << folder << " (DOVETAIL_PYTHON names another interpreter)\n";
  }
}

}  // namespace dovetail::tiom
