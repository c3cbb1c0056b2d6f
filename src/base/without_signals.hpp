// Signals for the process are for the program's own threads: a signal ends their system calls, or its handler needs their thread-locals.
#pragma once

#include <csignal>

namespace dovetail::base {

/// As long as it lives, the calling thread takes no signals, and the threads that it makes begin without. Signals for a thread's own
/// errors (SIGSEGV and the like) are not blocked.
class WithoutSignals {
 public:
  WithoutSignals() noexcept {
    sigset_t others;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT}) {
      sigdelset(&others, own);
    }
    pthread_sigmask(SIG_BLOCK, &others, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace dovetail::base
