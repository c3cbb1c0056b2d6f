// A folder that is shown through the file system that holds calls back, for tests that must know that calls are under way.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "support.hpp"

namespace dovetail::test {

/// System calls that no interposed function replaces.
inline ssize_t bare_write(int descriptor, const void* data, std::size_t bytes) {
  return syscall(SYS_write, descriptor, data, bytes);
}
inline ssize_t bare_read(int descriptor, void* data, std::size_t bytes) {
  return syscall(SYS_read, descriptor, data, bytes);
}
inline ssize_t bare_pread(int descriptor, void* data, std::size_t bytes, off_t offset) {
  return syscall(SYS_pread64, descriptor, data, bytes, offset);
}

inline std::string contents(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string all;
  char piece[65536];
  ssize_t got = 0;
  while ((got = bare_read(file, piece, sizeof piece)) > 0) {
    all.append(piece, static_cast<std::size_t>(got));
  }
  ::close(file);
  return all;
}

/// See bench/devices/README.md. Not `available` where it cannot be mounted.
class FaultFolder {
 public:
  FaultFolder() {
    const char* build = std::getenv("DOVETAIL_BUILD_DIR");
    const std::string program = std::string(build != nullptr ? build : ".") + "/bin/dovetail-fault-fs";
    if (access(program.c_str(), X_OK) != 0 || access("/dev/fuse", R_OK | W_OK) != 0) {
      return;
    }
    mkdir(backing_.c_str(), 0755);
    mkdir(mount_.c_str(), 0755);
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
      return;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    std::string until = "--until-stdin-closes";
    char* arguments[] = {const_cast<char*>(program.c_str()), until.data(), backing_.data(), mount_.data(), nullptr};
    const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    char word[6] = {};
    available_ = error == 0 && bare_read(out[0], word, 6) == 6;
    ::close(out[0]);
    lifeline_ = in[1];
  }
  ~FaultFolder() {
    if (lifeline_ >= 0) {
      ::close(lifeline_);
    }
    if (pid_ > 0) {
      waitpid(pid_, nullptr, 0);
    }
  }
  FaultFolder(const FaultFolder&) = delete;
  FaultFolder& operator=(const FaultFolder&) = delete;

  bool available() const noexcept { return available_; }
  std::string operator/(const std::string& name) const { return mount_ + "/" + name; }
  /// The file itself, past all rules.
  std::string behind(const std::string& name) const { return backing_ + "/" + name; }

  void rules(const std::string& text) const { control(O_TRUNC, text); }
  void release() const { control(0, "release\n"); }
  /// Returns when so many calls are being held.
  void await(unsigned calls) const { control(0, "wait " + std::to_string(calls) + "\n"); }

 private:
  void control(int mode, const std::string& text) const {
    const int file = ::open((*this / ".faults").c_str(), O_WRONLY | O_CLOEXEC | mode);
    ASSERT_GE(file, 0);
    if (!text.empty()) {
      ASSERT_EQ(bare_write(file, text.data(), text.size()), static_cast<ssize_t>(text.size())) << text;
    }
    ::close(file);
  }

  Folder folder_;
  std::string backing_ = folder_ / "backing";
  std::string mount_ = folder_ / "mount";
  pid_t pid_ = -1;
  int lifeline_ = -1;
  bool available_ = false;
};

}  // namespace dovetail::test
