// A file descriptor that is closed on every way out.
#pragma once

#include <unistd.h>

#include <utility>

namespace dovetail::base {

class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) {
      ::close(number_);
    }
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  /// -1: there is none.
  int get() const noexcept { return number_; }
  /// From now on it is the caller's.
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// The program has closed a descriptor that this library had opened. No thread could be woken by it any more, and its number may soon belong
/// to a file. Prints that, and ends the process with status 2. `what`: what the descriptor was for.
[[noreturn]] void end_since_closed(const char* what) noexcept;

}  // namespace dovetail::base
