// The end of the process with runtimes that are static, thread-local or used by what runs at exit. Each case is a process of its own.
#include <sys/wait.h>

#include <fstream>
#include <memory>

#include "base/sanitizer.hpp"
#include "support.hpp"
#include "tasking/core.hpp"

#if DOVETAIL_ADDRESS_SANITIZER
// A child that ends in a task does not wait for other threads, and after a fork it does not have them. So it cannot free what they use.
extern "C" int __lsan_is_turned_off() { return 1; }  // NOLINT(bugprone-reserved-identifier)
#endif

namespace dovetail::test {
namespace {

void say(const char* word) { std::fprintf(stderr, "%s\n", word); }

// Exits as a program does, and tells standard error when each stage is reached.
Outcome end_process(const std::function<void()>& program) {
  return run_in_child([&]() -> int {
    program();
    std::exit(40);
  });
}

Runtime& static_runtime() {
  static Runtime runtime(Options{.workers = 2});
  return runtime;
}

// Returns when so many threads are blocked in Runtime::wait. Then a test may call `exit`, which destroys the runtime. A thread that called
// Runtime::wait after that would use a destroyed object.
void await_waits(Runtime& runtime, unsigned threads) {
  const unsigned stays = 2 * threads;  // each thread has one for its call, one for its sleep
  await([&] { return runtime.core().foreign.waiting.load() >= stays; });
}

[[noreturn]] void exit_once_main_waits(Runtime& runtime = static_runtime()) {
  await_waits(runtime, 1);
  std::exit(42);
}

struct AtEnd {
  std::function<void()> action;
  ~AtEnd() {
    if (action) {
      action();
    }
  }
};

TEST(ProcessEndTest, ExitInATaskOfAStaticRuntime) {
  const auto outcome = end_process([] {
    static std::atomic<int> count{0};
    for (int i = 0; i < 1'000; ++i) {
      static_runtime().spawn([] { count.fetch_add(1); });
    }
    static_runtime().spawn({.label = "the last one"}, [] {
      std::atexit([] { say("at exit"); });
      exit_once_main_waits();
    });
    static_runtime().wait();
    say("waited");
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  EXPECT_NE(outcome.error.find("at exit"), std::string::npos) << outcome.error;
  EXPECT_EQ(outcome.error.find("waited"), std::string::npos) << outcome.error;
}

TEST(ProcessEndTest, ExitInAnIoTaskOfAStaticRuntime) {
  const auto outcome = end_process([] {
    static_runtime().spawn({.io = true}, [] { exit_once_main_waits(); });
    static_runtime().wait();
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

TEST(ProcessEndTest, ExitInAPausedTaskWhileOthersWork) {
  const auto outcome = end_process([] {
    static std::atomic<bool> forever{true};
    static_runtime().spawn([] {
      while (forever.load()) {
        this_task::yield();
      }
    });
    static_runtime().spawn([] {
      this_task::wait_for(std::chrono::milliseconds(1));
      exit_once_main_waits();
    });
    static_runtime().wait();
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

// `exit` while the main thread waits in the runtime: the destructors of statics run, that of the main thread's frame does not.
Outcome exit_while_main_waits(const std::function<void()>& arrange) {
  const Outcome outcome = end_process([&] {
    std::atexit([] { say("at exit"); });
    static const AtEnd destroyed{[] { say("statics"); }};
    static_runtime();
    const AtEnd frame{[] { say("the frame of main"); }};
    arrange();
    static_runtime().wait();
    for (;;) {
      pause();  // another thread ends the process
    }
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  for (const char* word : {"at exit", "statics"}) {
    EXPECT_NE(outcome.error.find(word), std::string::npos) << word << " is missing in " << outcome.error;
  }
  EXPECT_EQ(outcome.error.find("the frame of main"), std::string::npos) << outcome.error;
  return outcome;
}

// What is called by a thread of the runtime cannot wait for tasks, as little as a task can.
void spawn_endless_task() {
  static_runtime().spawn({.label = "endless"}, [] {
    static std::atomic<bool> forever{true};
    while (forever.load()) {
      this_task::yield();
    }
  });
}

// A thread that is not the runtime's ends its tasks first, as the main thread does.
TEST(ProcessEndTest, ExitInAForeignThreadWhileMainWaits) {
  for (std::size_t turn = 0; turn < scaled(50, 10); ++turn) {
    const Outcome outcome = exit_while_main_waits([] {
      static std::atomic<int> done{0};
      static Gate gate;
      for (int i = 0; i < 100; ++i) {
        static_runtime().spawn([] {
          await_in_task([] { return static_runtime().core().foreign.waiting.load() > 0; });
          if (done.fetch_add(1) == 50) {
            gate.open();
          }
          if (done.load() == 100) {
            say("the last task");
          }
        });
      }
      std::thread([] {
        gate.pass();
        std::exit(42);
      }).detach();
    });
    EXPECT_NE(outcome.error.find("the last task"), std::string::npos) << outcome.error;
  }
}

TEST(ProcessEndTest, ExitInAForeignThreadWhileTwoOthersWait) {
  for (std::size_t turn = 0; turn < scaled(50, 10); ++turn) {
    exit_while_main_waits([] {
      static Gate begun;
      static std::atomic<bool> ends{false};
      static_runtime().spawn([] {
        begun.open();
        while (!ends.load()) {
          this_task::yield();
        }
        for (int i = 0; i < 100; ++i) {
          this_task::yield();
        }
      });
      std::thread([] {
        static_runtime().wait();
        pause();
      }).detach();
      std::thread([] {
        begun.pass();
        await_waits(static_runtime(), 2);
        ends.store(true);
        std::exit(42);
      }).detach();
    });
  }
}

// The thread that spawns runs it: a task that is about to begin waits for this very thread.
TEST(ProcessEndTest, ExitInOnreadyOfAForeignThread) {
  const auto outcome = end_process([] { static_runtime().spawn({.onready = [] { std::exit(42); }}, [] {}); });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

TEST(ProcessEndTest, ExitInOnready) {
  for (const bool from_outside : {true, false}) {
    const Outcome outcome = exit_while_main_waits([from_outside] {
      static int data = 0;
      static std::atomic<bool> go{false};
      spawn_endless_task();
      static_runtime().spawn({.access = {out(data)}}, [] {
        while (!go.load()) {
          this_task::yield();
        }
      });
      const auto spawn_it = [] {
        spawn({.access = {in(data)}, .onready = [] { exit_once_main_waits(); }}, [] { say("the body"); });
      };
      if (from_outside) {
        static_runtime().spawn({.access = {in(data)}, .onready = [] { exit_once_main_waits(); }},
                               [] { say("the body"); });
      } else {
        static_runtime().spawn(spawn_it);
      }
      go.store(true);
    });
    EXPECT_EQ(outcome.error.find("the body"), std::string::npos) << outcome.error;
  }
}

TEST(ProcessEndTest, ExitInWhenCompletedOnAWorker) {
  exit_while_main_waits([] {
    static std::atomic<bool> go{false};
    spawn_endless_task();
    const Future<void> future = static_runtime().spawn([] {
      while (!go.load()) {
        this_task::yield();
      }
    });
    future.when_completed([] { exit_once_main_waits(); });
    go.store(true);
  });
}

// Called at once, by the thread that asks.
TEST(ProcessEndTest, ExitInWhenCompletedOnAForeignThread) {
  exit_while_main_waits([] {
    const Future<void> future = static_runtime().spawn([] {});
    future.wait();
    static std::atomic<bool> go{false};
    static_runtime().spawn([] {
      await_in_task([] { return go.load(); });
      say("another task");
    });
    std::thread([future] {
      await_waits(static_runtime(), 1);
      go.store(true);
      future.when_completed([] { std::exit(42); });
    }).detach();
  });
}

// On the thread that keeps time and asks services. The service stays for ever: it cannot be destroyed by its own function.
TEST(ProcessEndTest, ExitInAPollingFunction) {
  exit_while_main_waits([] {
    spawn_endless_task();
    static PollingService* const service =
        new PollingService(static_runtime(), "the end", {std::chrono::microseconds(1), std::chrono::microseconds(50)},
                           []() -> std::size_t { exit_once_main_waits(); });
    static_runtime().spawn({.label = "pending"}, [] {
      this_task::events().add();
      service->add_pending();
    });
  });
}

// As most programs have it: the service is destroyed with the process, by the thread that is in its function.
TEST(ProcessEndTest, ExitInAPollingFunctionOfAStaticService) {
  exit_while_main_waits([] {
    static PollingService service(static_runtime(), "the end",
                                  {std::chrono::microseconds(1), std::chrono::microseconds(50)},
                                  []() -> std::size_t { exit_once_main_waits(); });
    static_runtime().spawn({.label = "pending"}, [] {
      this_task::events().add();
      service.add_pending();
    });
  });
}

TEST(ProcessEndTest, ExitInWhenCompletedBehindAPollingFunction) {
  exit_while_main_waits([] {
    static Events* events = nullptr;
    static PollingService* const service =
        new PollingService(static_runtime(), "completes", {std::chrono::microseconds(1), std::chrono::microseconds(50)},
                           []() -> std::size_t {
                             events->fulfill();
                             return 1;
                           });
    spawn_endless_task();
    static std::atomic<bool> go{false};
    const Future<void> future = static_runtime().spawn([] {
      while (!go.load()) {
        this_task::yield();
      }
      events = &this_task::events();
      events->add();
      service->add_pending();
    });
    future.when_completed([] { exit_once_main_waits(); });
    go.store(true);
  });
}

// What was made before the runtime is destroyed after it: no task may find it gone.
TEST(ProcessEndTest, NoTaskBeginsBehindTheEndOfAStaticRuntime) {
  const auto outcome = end_process([] {
    static std::atomic<int> begun{0};
    struct MadeBefore {
      ~MadeBefore() {
        const int running = 1;  // of the other worker
        const int before = begun.load();
        for (int i = 0; i < 20'000; ++i) {
          std::this_thread::yield();
        }
        if (begun.load() > before + running) {
          _exit(3);
        }
      }
    };
    static const MadeBefore made_before;
    static std::function<void()> go_on = [] {
      begun.fetch_add(1);
      spawn([] { go_on(); });
    };
    static_runtime().spawn([] { go_on(); });
    static_runtime().spawn([] {
      await([] { return begun.load() > 100; });
      exit_once_main_waits();
    });
    static_runtime().wait();
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

TEST(ProcessEndTest, ExitInATaskWritesTheTrace) {
  const std::string trace = "/tmp/dovetail_process_end_" + std::to_string(getpid()) + ".json";
  const auto outcome = end_process([&] {
    static Runtime runtime(Options{.workers = 1, .trace = trace});
    runtime.spawn({.label = "traced"}, [] {});
    runtime.wait();
    runtime.spawn([] { exit_once_main_waits(runtime); });
    runtime.wait();
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  std::ifstream file(trace);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("traced"), std::string::npos);
  unlink(trace.c_str());
}

TEST(ProcessEndTest, AStaticRuntimeEndsItsTasks) {
  const auto outcome = end_process([] {
    static_runtime().spawn([] {
      this_task::wait_for(std::chrono::milliseconds(5));
      say("done");
    });
  });
  EXPECT_EQ(outcome.status, 40) << outcome.error;
  EXPECT_NE(outcome.error.find("done"), std::string::npos);
}

TEST(ProcessEndTest, AThreadLocalRuntimeEndsItsTasks) {
  const auto outcome = end_process([] {
    static thread_local std::unique_ptr<Runtime> runtime;
    runtime = std::make_unique<Runtime>(Options{.workers = 2});
    runtime->spawn([] {
      this_task::wait_for(std::chrono::milliseconds(5));
      say("done");
    });
  });
  EXPECT_EQ(outcome.status, 40) << outcome.error;
  EXPECT_NE(outcome.error.find("done"), std::string::npos);
}

Runtime& runtime_of_thread() {
  static thread_local Runtime runtime(Options{.workers = 2});
  return runtime;
}

// The runtime goes with its thread, which waits for its tasks; the process goes on.
TEST(ProcessEndTest, AThreadLocalRuntimeOfAnotherThreadEndsItsTasks) {
  const auto outcome = end_process([] {
    static std::atomic<int> done{0};
    for (int i = 1; i <= 20; ++i) {
      std::thread([] {
        for (int task = 0; task < 10; ++task) {
          runtime_of_thread().spawn([] {
            this_task::yield();
            done.fetch_add(1);
          });
        }
      }).join();
      if (done.load() != i * 10) {
        _exit(3);
      }
    }
    static_runtime().spawn([] { say("another runtime afterwards"); }).get();
  });
  EXPECT_EQ(outcome.status, 40) << outcome.error;
  EXPECT_NE(outcome.error.find("another runtime afterwards"), std::string::npos);
}

// `exit` destroys only the thread-locals of the thread that calls it: main is at work in its own runtime all the time.
TEST(ProcessEndTest, ExitInAThreadWithAThreadLocalRuntime) {
  const auto outcome = end_process([] {
    static_runtime();
    runtime_of_thread();
    std::thread([] {
      runtime_of_thread().spawn([] {
        this_task::yield();
        say("done");
      });
      std::exit(42);
    }).detach();
    for (;;) {
      runtime_of_thread().spawn([] { this_task::yield(); });
      runtime_of_thread().wait();
    }
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  EXPECT_NE(outcome.error.find("done"), std::string::npos) << outcome.error;
}

// Futures, handles and files that outlive their runtime, and a runtime that is made when the process ends already.
TEST(ProcessEndTest, StaticsInEveryOrder) {
  const auto outcome = end_process([] {
    static Future<std::string> future;
    static TaskHandle handle;
    static thread_local Future<std::string> local;
    static AtEnd late{[] {
      Runtime runtime(Options{.workers = 1});
      if (runtime.spawn([] { return 5; }).get() == 5) {
        say("a runtime at the end");
      }
    }};
    static_runtime();
    static AtEnd early{[] { static_runtime().spawn([] { say("a task at the end"); }); }};
    std::atexit([] { static_runtime().spawn([] { say("a task at exit"); }).wait(); });
    future = static_runtime().spawn([] {
      handle = this_task::handle();
      return std::string(100, 'x');
    });
    local = static_runtime().spawn([] { return std::string(100, 'y'); });
    static_runtime().wait();
  });
  EXPECT_EQ(outcome.status, 40) << outcome.error;
  for (const char* word : {"a runtime at the end", "a task at the end", "a task at exit"}) {
    EXPECT_NE(outcome.error.find(word), std::string::npos) << word << " is missing in " << outcome.error;
  }
}

// As much stays for a thousand runtimes as for one.
TEST(ProcessEndTest, RuntimesLeaveNothingBehind) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
  const auto outcome = run_in_child([] {
    auto use_one = [] {
      Runtime runtime(Options{.workers = 2});
      runtime.spawn({.io = true}, [] {});
      runtime.spawn([] { this_task::yield(); });
      runtime.wait();
    };
    for (int i = 0; i < 20; ++i) {
      use_one();
    }
    const std::size_t before = allocated_bytes();
    const int count = 200;
    for (int i = 0; i < count; ++i) {
      use_one();
    }
    const std::size_t after = allocated_bytes();
    std::fprintf(stderr, "%zu bytes, then %zu\n", before, after);
    return after <= before + 64 * count ? 42 : 1;
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

}  // namespace
}  // namespace dovetail::test
