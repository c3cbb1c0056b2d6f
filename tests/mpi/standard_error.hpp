// Waiting for a sentence that the process says.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace dovetail::test {

/// As long as it lives, what the process writes to standard error goes here; it must fit into a pipe.
class StandardError {
 public:
  StandardError() : before_(dup(STDERR_FILENO)) {
    if (pipe(ends_.data()) != 0) {
      std::abort();
    }
    dup2(ends_[1], STDERR_FILENO);
  }
  ~StandardError() {
    give_back();
    close(ends_[0]);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

  /// Returns when it has been written.
  void wait_for(const std::string& text) {
    while (seen_.find(text) == std::string::npos && read_more()) {
    }
  }
  /// All that was written. The process writes elsewhere again.
  std::string end() {
    give_back();
    while (read_more()) {
    }
    return seen_;
  }

 private:
  bool read_more() {
    std::array<char, 4096> next{};
    const ssize_t size = read(ends_[0], next.data(), next.size());
    seen_.append(next.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    return size > 0;
  }
  void give_back() {
    if (before_ >= 0) {
      dup2(before_, STDERR_FILENO);
      close(before_);
      close(ends_[1]);
      before_ = -1;
    }
  }

  int before_;
  std::array<int, 2> ends_{};
  std::string seen_;
};

}  // namespace dovetail::test
