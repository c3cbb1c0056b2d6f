// What the tests of tasking share.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <latch>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "dovetail/dovetail.hpp"

namespace dovetail::test {

/// The seed of this run: from DOVETAIL_TEST_SEED, or fresh. Printed, so that a failure can be repeated.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("DOVETAIL_TEST_SEED");
    const std::uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
    std::cout << "DOVETAIL_TEST_SEED=" << chosen << std::endl;
    return chosen;
  }();
  return value;
}

/// Less work where a sanitizer makes everything slow.
inline std::size_t scaled(std::size_t full, std::size_t small) {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale != nullptr && std::string(scale) == "small" ? small : full;
}

/// Random numbers of a stream of its own: the same for the same seed, whatever other streams do.
class Random {
 public:
  explicit Random(std::uint64_t stream) : engine_(seed() * 0x9E3779B97F4A7C15ULL + stream) {}
  /// From `least` to `most`, both included.
  std::uint64_t between(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(engine_);
  }
  /// True once in `n` times.
  bool once_in(std::uint64_t n) { return between(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

/// A door that blocks the thread (not only the task) until it is opened.
class Gate {
 public:
  void open() { open_.count_down(); }
  void pass() const { open_.wait(); }

 private:
  std::latch open_{1};
};

/// Spins a thread until the condition holds; other threads bring it about. Never for a task that others on the same worker
/// have to run for.
template <class Condition>
void await(Condition&& condition) {
  while (!condition()) {
    std::this_thread::yield();
  }
}

/// Lets other tasks run until the condition holds.
template <class Condition>
void await_in_task(Condition&& condition) {
  while (!condition()) {
    this_task::yield();
  }
}

/// Gives up for as long as it takes another thread to get in between, now and then.
inline void stumble(Random& random) {
  switch (random.between(0, 7)) {
    case 0:
      std::this_thread::yield();
      break;
    case 1:
      for (std::uint64_t spins = random.between(0, 200); spins > 0; --spins) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
      break;
    default:
      break;
  }
}

/// A pipe that does not block.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe2");
    }
  }
  ~Pipe() {
    close_writer();
    close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void write_one(char value) const { EXPECT_EQ(write(ends_[1], &value, 1), 1); }
  char read_one() const {
    char value = 0;
    return read(ends_[0], &value, 1) == 1 ? value : '\0';
  }
  void close_writer() {
    if (ends_[1] >= 0) {
      close(std::exchange(ends_[1], -1));
    }
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// The failure that the call throws; nothing if it throws none.
template <class Call>
std::optional<TaskFailed> failure_of(Call&& call) {
  try {
    call();
  } catch (const TaskFailed& failed) {
    return failed;
  }
  return std::nullopt;
}

/// What the innermost nested exception says.
inline std::string innermost(const std::exception& exception) {
  try {
    std::rethrow_if_nested(exception);
  } catch (const std::exception& nested) {
    return innermost(nested);
  }
  return exception.what();
}

/// Threads of this process.
std::size_t count_threads();
/// Resident memory of this process in bytes.
std::size_t resident_bytes();
/// Bytes that this process has allocated and not freed.
std::size_t allocated_bytes();

/// What is written to standard error while it lives, readable at any time.
class ErrorLines {
 public:
  ErrorLines() : before_(dup(STDERR_FILENO)) { EXPECT_EQ(dup2(fileno(file_.get()), STDERR_FILENO), STDERR_FILENO); }
  ~ErrorLines() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  ErrorLines(const ErrorLines&) = delete;
  ErrorLines& operator=(const ErrorLines&) = delete;
  std::string text() const {
    std::array<char, 4096> read{};
    const ssize_t length = ::pread(fileno(file_.get()), read.data(), read.size(), 0);
    return {read.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
  }

 private:
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
  const int before_;
};

/// What a child process did: its exit status (negative: the signal that ended it) and what it wrote to standard error.
struct Outcome {
  int status;
  std::string error;
};
/// Runs `program` in a forked child, and exits with what it returns. When the child has written `signal` to standard error, its standard
/// input is given a byte.
Outcome run_in_child(const std::function<int()>& program, const std::string& signal = {});

}  // namespace dovetail::test
