// No wake-up is lost: a task that is queued at the very moment in which the last worker falls asleep is run all the same. Threads here
// only look, so that nothing else wakes a worker by chance.
#include "support.hpp"

namespace dovetail::test {
namespace {

// A worker that sleeps for ever, and not until a report is due, so that a lost wake-up is not made good.
Options nothing_else_wakes(unsigned workers = 2) {
  return {.workers = workers, .report_after = std::chrono::seconds(0)};
}

// Turns of a loop, somewhat longer together than a worker looks before it sleeps.
constexpr std::uint64_t longest = 40'000;

// Lets some time pass that a worker may need to get as far as its sleep; each time another.
void dawdle(Random& random, std::uint64_t most) {
  for (std::uint64_t i = random.between(0, most); i > 0; --i) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

// With one worker, too: of two the other one is woken while the first still looks.
void from_a_foreign_thread(const TaskDescription& description) {
  for (unsigned workers = 1; workers <= 2; ++workers) {
    Runtime runtime(nothing_else_wakes(workers));
    Random random(1);
    std::atomic<std::size_t> ran{0};
    const std::size_t count = scaled(50'000, 5'000);
    for (std::size_t i = 1; i <= count; ++i) {
      runtime.spawn(description, [&] { ran.fetch_add(1); });
      await([&] { return ran.load() == i; });
      dawdle(random, longest);
    }
  }
}

TEST(WakeUpTest, ATaskOfAForeignThread) { from_a_foreign_thread({}); }
TEST(WakeUpTest, OfLowPriority) { from_a_foreign_thread({.priority = -1}); }
TEST(WakeUpTest, OfHighPriority) { from_a_foreign_thread({.priority = 1}); }

TEST(WakeUpTest, ATaskThatAForeignThreadResumes) {
  Runtime runtime(nothing_else_wakes());
  Random random(2);
  std::atomic<std::size_t> resumed{0};
  std::atomic<bool> over{false};
  TaskHandle handle;
  std::atomic<bool> known{false};
  runtime.spawn([&] {
    handle = this_task::handle();
    known = true;
    while (!over.load()) {
      this_task::suspend();
      resumed.fetch_add(1);
    }
  });
  await([&] { return known.load(); });
  const std::size_t count = scaled(100'000, 10'000);
  for (std::size_t i = 1; i <= count; ++i) {
    over = i == count;
    handle.resume();
    await([&] { return resumed.load() == i; });
    dawdle(random, longest);
  }
  runtime.wait();
}

// The spawning task computes until the other worker, which is falling asleep, has run the new one: no other worker can.
TEST(WakeUpTest, ATaskOfAWorkerThatGoesOnComputing) {
  Runtime runtime(nothing_else_wakes());
  std::atomic<std::size_t> ran{0};
  runtime
      .spawn([&] {
        Random random(3);
        const std::size_t count = scaled(200'000, 20'000);
        for (std::size_t i = 1; i <= count; ++i) {
          spawn([&] { ran.fetch_add(1); });
          await([&] { return ran.load() == i; });
          dawdle(random, longest);
        }
      })
      .get();
}

}  // namespace
}  // namespace dovetail::test
