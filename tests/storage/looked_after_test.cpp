// What a worker has begun and cannot take because it computes is delivered by another one that is idle. A failure is a hang.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "support.hpp"
#include "tasking/slice_predictor.hpp"

namespace dovetail {
namespace {

// A pipe: what is read from it is there once it was written.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void read() {
    std::byte byte{};
    File::from_descriptor(ends_[0]).pread(std::span(&byte, 1), 0);
  }
  void write() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

 private:
  std::array<int, 2> ends_{};
};

class LookedAfterTest : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    if (!test::ring_available()) {
      GTEST_SKIP() << "no io_uring here";
    }
  }
};

// Long enough that the slice is not taken for a short one, before which prepared operations are not handed over.
void compute_for_a_while() {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::microseconds(10 * tasking::SlicePredictor::short_microseconds);
  while (std::chrono::steady_clock::now() < until) {
  }
}

// One task reads and is done; the other one, which began on the same worker before, computes until that has happened. The writer
// comes at any time: before the other workers sleep, while they fall asleep, or after.
TEST_P(LookedAfterTest, ATaskGoesOnElsewhereWhileItsWorkerComputes) {
  std::mt19937 random(static_cast<std::uint32_t>(test::seed()));
  Runtime runtime(Options{.workers = GetParam(), .engine = "uring"});
  const auto rounds = static_cast<int>(test::scaled(2000, 200));
  for (int round = 0; round < rounds; ++round) {
    Pipe pipe;
    std::atomic<bool> computing{false};
    std::atomic<bool> done{false};
    auto parent = runtime.spawn([&] {
      auto reader = spawn([&] {
        pipe.read();
        done = true;
      });
      this_task::yield();
      computing = true;
      compute_for_a_while();
      while (!done) {
      }
      reader.get();
    });
    while (!computing) {
      std::this_thread::yield();
    }
    for (auto pause = random() % 20'000; pause > 0; --pause) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    pipe.write();
    parent.get();
  }
}

// All of its slices were short until now, so this one is not expected to be long.
TEST_P(LookedAfterTest, AlsoWhereNobodyExpectsThatItComputes) {
  Runtime runtime(Options{.workers = GetParam(), .engine = "uring"});
  const auto rounds = static_cast<int>(test::scaled(20, 3));
  for (int round = 0; round < rounds; ++round) {
    Pipe often;
    Pipe once;
    std::atomic<int> passed{0};
    std::atomic<bool> computes{false};
    std::atomic<bool> done{false};
    auto computing = runtime.spawn([&] {
      auto reader = spawn([&] {
        once.read();
        done = true;
      });
      for (;;) {
        often.read();
        if (computes) {
          ++passed;
          while (!done) {
          }
          break;
        }
        ++passed;
      }
      reader.get();
    });
    for (int i = 0; i < 100; ++i) {
      const int before = passed;
      computes = i == 99;
      often.write();
      while (passed == before) {
        std::this_thread::yield();
      }
    }
    once.write();
    computing.get();
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, LookedAfterTest, testing::Values(2U, 3U, 8U),
                         [](const auto& workers) { return std::to_string(workers.param); });

}  // namespace
}  // namespace dovetail
