// Loaded before a program that knows nothing of Dovetail, makes its `main` the body of a task. Every interposed call of it may pause.
// Tests load it together with libdovetail-posix.so. With DOVETAIL_TEST_MAIN=beside_a_thread, `main` stays where it is and has a thread
// beside it that does nothing: that tells what a program sees of any thread.
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "dovetail/dovetail.hpp"

namespace {

using Main = int (*)(int, char**, char**);

Main main_of_program = nullptr;

// Signals for the process go to the thread that runs the program, as where there is only one.
void leave_signals_to_the_task() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

int main_in_task(int count, char** arguments, char** environment) {
  const char* const way = std::getenv("DOVETAIL_TEST_MAIN");
  if (way != nullptr && std::string_view(way) == "beside_a_thread") {
    static std::atomic<bool> there{false};
    std::thread([] {
      there.store(true);
      for (;;) {
        pause();
      }
    }).detach();
    while (!there.load()) {
      std::this_thread::yield();
    }
    return main_of_program(count, arguments, environment);
  }
  int status = 0;
  const pid_t process = getpid();
  dovetail::Options options;
  options.workers = 1;
  options.stack_size = std::size_t{8} << 20;  // as the first thread of a process
  dovetail::Runtime runtime(options);
  auto program = runtime.spawn({.label = "main"}, [&] {
    status = main_of_program(count, arguments, environment);
    if (getpid() != process) {
      exit(status);  // the child of a fork, which has no runtime to return to
    }
  });
  leave_signals_to_the_task();
  program.get();
  return status;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int __libc_start_main(Main main, int count, char** arguments, void (*init)(),
                                                                void (*fini)(), void (*end_of_loader)(), void* stack) {
  main_of_program = main;
  const auto real = reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(main_in_task, count, arguments, init, fini, end_of_loader, stack);
}
