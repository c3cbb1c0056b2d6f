// Says which task has run out of its stack, instead of a bare segmentation fault.
#pragma once

#include <cstddef>
#include <memory>

namespace dovetail::tasking {

/// Installs the handler, once for the process. A handler that the program had, or the default, comes after it.
void report_stack_overflows();

/// Where the stack of the calling thread ends, for a thread whose tasks run on that.
const std::byte* lowest_of_stack() noexcept;

/// Gives the calling thread a stack for signal handlers, unless it has one. Not to be moved; the thread ends it.
class AlternateStack {
 public:
  AlternateStack();
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace dovetail::tasking
