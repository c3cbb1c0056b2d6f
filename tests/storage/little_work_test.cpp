// Little I/O is left to one worker; what it cannot get to, the other one does. A failure is a hang.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/sanitizer.hpp"
#include "storage/ring.hpp"
#include "support.hpp"

namespace dovetail {
namespace {

// A pipe with room for one page, which is full: a task that passes waits in the ring until the turnstile is opened.
class Turnstile {
 public:
  Turnstile() {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_GE(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 4096);
    EXPECT_EQ(::write(ends_[1], page_.data(), page_.size()), static_cast<ssize_t>(page_.size()));
  }
  Turnstile(const Turnstile&) = delete;
  Turnstile& operator=(const Turnstile&) = delete;
  ~Turnstile() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void pass() { File::from_descriptor(ends_[1]).pwrite(page_, 0); }
  void pass_later(std::size_t* written) { File::from_descriptor(ends_[1]).ipwrite(page_, 0, written); }
  void open() {
    std::array<std::byte, 4096> out;
    for (std::size_t left = out.size(); left > 0;) {
      const ssize_t got = ::read(ends_[0], out.data(), left);
      ASSERT_GT(got, 0);
      left -= static_cast<std::size_t>(got);
    }
  }

 private:
  std::array<int, 2> ends_{};
  std::array<std::byte, 4096> page_{};
};

// Whether an operation has been delivered, asked by a slice that goes on: only that a worker beside it delivers can be seen so.
[[gnu::noinline, gnu::no_sanitize("thread")]] std::size_t peek(const std::size_t* result) {
  return *static_cast<const volatile std::size_t*>(result);
}

// The load is made so, nothing waits for anything by it.
void pace(std::chrono::microseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
  }
}

class LittleWorkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (storage::Ring::make(why) == nullptr) {
      GTEST_SKIP() << why;
    }
  }
};

// What was handed over by the sleep itself must be looked after too, when the sleeper computes.
TEST_F(LittleWorkTest, AnIdleWorkerLooksAfterWhatASleepHandedOver) {
  for (int round = 0; round < 30; ++round) {
    Turnstile first, second, third;
    std::atomic<bool> begun{false};
    std::atomic<bool> computing{false};
    std::size_t written = 0;
    Runtime runtime(Options{.workers = 2, .engine = "uring"});
    std::thread outside([&] {
      first.open();
      begun.wait(false);
      second.open();
      computing.wait(false);
      third.open();
    });
    runtime.spawn([&] {
      first.pass();
      third.pass_later(&written);
      begun = true;
      begun.notify_all();
      second.pass();
      computing = true;
      computing.notify_all();
      while (peek(&written) == 0) {
      }
    });
    runtime.wait();
    outside.join();
    EXPECT_EQ(written, 4096U);
  }
}

// One task passes again and again, as others do, so that there is little to do and one worker has it all. Then that one computes,
// and must not keep what comes meanwhile.
TEST_F(LittleWorkTest, WhoeverComputesKeepsNothing) {
  Turnstile often, now_and_then;
  enum Order : int { go_on, compute, end };
  std::atomic<int> order{go_on};
  std::atomic<int> begun{0};
  std::atomic<int> done{0};
  std::atomic<int> passed{0};
  std::atomic<bool> computing{false};
  Runtime runtime(Options{.workers = 2, .engine = "uring"});
  runtime.spawn([&] {
    for (;;) {
      often.pass();
      const int what = order.exchange(go_on);
      ++passed;  // the thread that waits for this may give the next order
      if (what == end) return;
      if (what == compute) {
        const int before = done;
        computing = true;
        while (done == before) {
        }
        computing = false;
      }
    }
  });
  const auto spawn_one = [&] {
    runtime.spawn([&] {
      ++begun;
      now_and_then.pass();
      ++done;
    });
  };
  const auto let_pass = [&] {
    const int before = passed;
    often.open();
    while (passed == before) {
      std::this_thread::yield();
    }
  };
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 40; ++i) {
      const int before = done;
      let_pass();
      spawn_one();
      pace(std::chrono::microseconds(500));
      let_pass();
      now_and_then.open();
      while (done == before) {
        std::this_thread::yield();
      }
    }
    const int before = begun;
    spawn_one();
    while (begun == before) {
      std::this_thread::yield();
    }
    // Its transfer is gathered, at the latest, when the other task passes, and handed over when that passes again. The other worker
    // can deliver only transfers that are under way.
    let_pass();
    let_pass();
    order = compute;
    let_pass();
    while (!computing) {
      std::this_thread::yield();
    }
    now_and_then.open();
    while (computing) {
      std::this_thread::yield();
    }
  }
  order = end;
  let_pass();
  runtime.wait();
}

// Tasks that were kept while they were short say nothing of those that are announced later.
TEST_F(LittleWorkTest, LongChildrenAreNotKept) {
  Turnstile often;
  std::atomic<int> order{0};
  std::atomic<int> answered{0};
  constexpr int rounds = 10;
  Runtime runtime(Options{.workers = 2, .engine = "uring"});
  runtime.spawn([&] {
    for (;;) {
      often.pass();
      const int what = order;
      if (what == 2) return;
      if (what == 0) {
        for (int i = 0; i < 2; ++i) spawn([] {});
      } else {
        // Each runs until another one runs beside it, which the worker of this task does not do: it waits for the first.
        std::atomic<int> begun{0};
        for (int i = 0; i < 4; ++i) {
          spawn([&] { ++begun; });
        }
        while (begun == 0) {
        }
        wait();
      }
      ++answered;
      answered.notify_all();
    }
  });
  const auto ask = [&](int what) {
    const int before = answered;
    order = what;
    often.open();
    while (answered == before) {
      std::this_thread::yield();
    }
  };
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 60; ++i) ask(0);
    ask(1);
  }
  order = 2;
  often.open();
  runtime.wait();
}

// A worker has both at hand, and came by the long ones last. The short ones begin transfers, as far as it knows. A short slice in which
// the system runs something else looks long: then once more.
TEST_F(LittleWorkTest, ShortSlicesComeBeforeLongOnes) {
  Turnstile in_flight;
  constexpr auto long_time = std::chrono::milliseconds(1);
  constexpr int each = 4;
  constexpr int attempts = 50;
  std::string order;
  const auto spawn_short = [&] { spawn([&] { order += 's'; }); };
  const auto spawn_long = [&] {
    spawn([&] {
      order += 'l';
      const auto until = std::chrono::steady_clock::now() + long_time;
      while (std::chrono::steady_clock::now() < until) {
      }
    });
  };
  Runtime runtime(Options{.workers = 1, .engine = "uring"});
  auto passing = runtime.spawn([&] { in_flight.pass(); });
  for (int attempt = 0; attempt < attempts && order != "ssssllll"; ++attempt) {
    runtime
        .spawn([&] {
          for (int i = 0; i < 100; ++i) spawn_short();  // until they are known to be
          for (int i = 0; i < each; ++i) spawn_long();
        })
        .get();
    runtime
        .spawn([&] {
          order.clear();
          for (int i = 0; i < each; ++i) spawn_short();
          for (int i = 0; i < each; ++i) spawn_long();
        })
        .get();
  }
  in_flight.open();
  runtime.wait();
  EXPECT_EQ(order, "ssssllll");
}

// Passes by each of two workers: after some that let them find out how it is, of so many together.
class Shares {
 public:
  explicit Shares(int known_after) : known_after_(known_after) {}
  void count() {
    if (++passed_ <= known_after_) return;
    const std::lock_guard lock(mutex_);
    ++by_worker_[std::this_thread::get_id()];
  }
  int passed() const { return passed_; }
  // In percent, of the worker that has passed less often.
  int least() const {
    int all = 0;
    int most = 0;
    for (const auto& [worker, times] : by_worker_) {
      all += times;
      most = std::max(most, times);
    }
    return 100 * (all - most) / all;
  }

 private:
  const int known_after_;
  std::atomic<int> passed_{0};
  std::mutex mutex_;
  std::map<std::thread::id, int> by_worker_;
};

// Many tasks wait, and each of them sometimes has work for some microseconds. One worker does it all, since a second one would wake as often.
// Where the system interrupts that worker the tasks may spread again, hence the median.
TEST_F(LittleWorkTest, LittleIsLeftToOneWorker) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "no slice is short there";
#endif
  constexpr int chains = 16;
  constexpr int passes = 3000;
  constexpr int most_percent = 20;
  std::array<int, 5> shares{};
  for (int& share : shares) {
    std::array<Turnstile, chains> turnstiles;
    Shares counted(passes / 2);
    std::atomic<bool> over{false};
    Runtime runtime(Options{.workers = 2, .engine = "uring"});
    for (Turnstile& turnstile : turnstiles) {
      runtime.spawn([&] {
        pace(std::chrono::milliseconds(1));  // so both workers have some
        while (!over) {
          turnstile.pass();
          counted.count();
        }
      });
    }
    for (int i = 0; i < passes; ++i) {
      turnstiles[static_cast<std::size_t>(i) % chains].open();
      pace(std::chrono::microseconds(100));
    }
    over = true;
    for (Turnstile& turnstile : turnstiles) {
      turnstile.open();
    }
    runtime.wait();
    share = counted.least();
    std::cerr << "the other worker passed " << share << " % of the times\n";
  }
  std::ranges::sort(shares);
  EXPECT_LE(shares[shares.size() / 2], most_percent);
}

// Each task reads a block past the page cache, computes for some microseconds and spawns the next one. Nothing can be done beside it, so no worker
// is woken for it. Where the system interrupts one, or others keep the disk busy, the chain may move, hence the run with the fewest moves.
TEST_F(LittleWorkTest, AChainOfTransfersStaysWithItsWorker) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "no slice is short there";
#endif
  constexpr int links = 3000;
  constexpr int until_known = 500;
  constexpr int most_moves = (links - until_known) / 20;
  const test::Folder folder;
  File file = File::open(folder / "file", O_RDWR | O_CREAT, {.direct = Direct::automatic});
  if (!file.direct()) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  file.pwrite(std::vector<std::byte>(4096), 0);
  int fewest_moves = links;
  for (int runs = 0; runs < 20 && fewest_moves > most_moves; ++runs) {
    int moves = 0;
    Runtime runtime(Options{.workers = 2, .engine = "uring"});
    std::array<std::byte, 4096> block;
    std::thread::id worker;
    std::function<void(int)> begin = [&](int link) {
      runtime.spawn([&, link] {
        const std::thread::id here = std::this_thread::get_id();
        moves += link > until_known && here != worker ? 1 : 0;
        worker = here;
        file.pread(block, 0);
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(4);  // still short
        while (std::chrono::steady_clock::now() < until) {
        }
        if (link < links) {
          begin(link + 1);
        }
      });
    };
    begin(1);
    runtime.wait();
    std::cerr << "moved " << moves << " times\n";
    fewest_moves = std::min(fewest_moves, moves);
  }
  EXPECT_LE(fewest_moves, most_moves);
}

}  // namespace
}  // namespace dovetail
