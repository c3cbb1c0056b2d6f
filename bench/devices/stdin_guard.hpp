// No mount outlives its maker: a file system ends when its standard input does.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace dovetail::devices {

/// From its making on, the end of standard input ends libfuse's loop as SIGTERM does. To be destroyed when the loop has ended and
/// before libfuse's signal handlers are removed; signals that end a program do nothing from then on.
class StdinGuard {
 public:
  StdinGuard() {
    std::thread([] {
      // The signal is for the main thread, which waits for it; the library's own threads block it too.
      sigset_t every;
      sigfillset(&every);
      pthread_sigmask(SIG_SETMASK, &every, nullptr);
      char byte = 0;
      while (read(STDIN_FILENO, &byte, 1) > 0) {
      }
      // libfuse's handler sets a flag that the loop looks at before it waits. A signal in between is lost on it.
      for (;;) {
        kill(getpid(), SIGTERM);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }).detach();
  }
  StdinGuard(const StdinGuard&) = delete;
  StdinGuard& operator=(const StdinGuard&) = delete;
  ~StdinGuard() { signal(SIGTERM, SIG_IGN); }
};

}  // namespace dovetail::devices
