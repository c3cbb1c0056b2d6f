// No signal handler of the program runs while the library is at work in a thread: it could make calls on the same files, or leave the library for ever by a
// jump.
#pragma once

#include <pthread.h>

#include <csignal>

namespace dovetail::interpose::staged {

/// As long as one lives, signals wait, save those for a thread's own errors. Next to no cost within another one.
class HeldSignals {
 public:
  HeldSignals() noexcept { hold(); }
  ~HeldSignals() { let_go(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  static void hold() noexcept {
    if (depth_ == 0) {
      sigset_t others;
      sigfillset(&others);
      for (const int own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS}) {
        sigdelset(&others, own);
      }
      pthread_sigmask(SIG_BLOCK, &others, &before_);
    }
    // Not before: a handler that jumps away from here would leave them counted as held, and so never held again.
    ++depth_;
  }
  static void let_go() noexcept {
    if (--depth_ == 0) {
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }
  static bool are_held() noexcept { return depth_ != 0; }
  /// Of the program, while they are held.
  static const sigset_t& before() noexcept { return before_; }

 private:
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local unsigned depth_ = 0;
  [[gnu::tls_model("initial-exec")]] static inline thread_local sigset_t before_{};
};

/// For waits that may take long: a signal that ends the program, such as that of Ctrl-C, does so at once, unless it has a handler.
class EndingSignals {
 public:
  EndingSignals() noexcept {
    sigset_t ending;
    sigemptyset(&ending);
    for (int number = 1; HeldSignals::are_held() && number < SIGRTMIN; ++number) {
      struct sigaction action{};
      if (sigismember(&HeldSignals::before(), number) == 0 && ::sigaction(number, nullptr, &action) == 0 &&
          action.sa_handler == SIG_DFL) {
        sigaddset(&ending, number);
      }
    }
    pthread_sigmask(SIG_UNBLOCK, &ending, &held_);
  }
  ~EndingSignals() { pthread_sigmask(SIG_SETMASK, &held_, nullptr); }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

 private:
  sigset_t held_{};
};

}  // namespace dovetail::interpose::staged
