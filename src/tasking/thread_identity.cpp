#include "tasking/thread_identity.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace dovetail::tasking {
namespace {

thread_local constinit long noted_thread = 0;
thread_local constinit std::uint64_t noted_mask = 0;

// The system's own set is 64 bits; the C library's is 1024 and leaves out the signals that it uses itself.
std::uint64_t signal_mask() noexcept {
  std::uint64_t mask = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof mask);
  return mask;
}

}  // namespace

void note_thread() noexcept {
  noted_thread = syscall(SYS_gettid);
  noted_mask = signal_mask();
}

// Not inlined: a task may have moved to another thread since the caller last looked.
[[gnu::noinline]] bool thread_is_as_noted() noexcept {
  return syscall(SYS_gettid) == noted_thread && signal_mask() == noted_mask;
}

}  // namespace dovetail::tasking
