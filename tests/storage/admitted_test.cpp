// Requests that had to wait in their lane and that their tasks start by themselves when it is their turn.
#include <fcntl.h>

#include <set>

#include "held.hpp"
#include "storage/learned_device.hpp"
#include "tasking/pause.hpp"

namespace dovetail::test {
namespace {

constexpr std::size_t count = 128;
constexpr std::size_t large = 256 * 1024;

/// Which of the requests were started, and how many by their tasks.
class Starts {
 public:
  void note(const storage::Request& request) {
    const std::lock_guard lock(mutex_);
    started_.insert(request.offset / large);
    by_tasks_ += tasking::current_task() == request.task ? 1 : 0;
  }
  bool was_started(std::size_t block) {
    const std::lock_guard lock(mutex_);
    return started_.count(block) != 0;
  }
  std::size_t by_tasks() {
    const std::lock_guard lock(mutex_);
    return by_tasks_;
  }

 private:
  std::mutex mutex_;
  std::set<std::size_t> started_;
  std::size_t by_tasks_ = 0;
};

class AdmittedTest : public EngineTest {
 protected:
  // Of the lane. Buffered transfers are left to threads where there is no ring.
  std::size_t depth() const {
    const std::string engine = GetParam();
    return engine == "threads" || engine == "aio" ? 64 : storage::routes_of(storage::buffered_write_large)[0].depth;
  }
  // The first are held, the others wait behind them.
  void spawn_all(Runtime& runtime) {
    storage::StorageService::of(runtime.core())->leave_starts_to_tasks();
    held_ = Held::install(runtime, [this](const storage::Request& request) { starts_.note(request); });
    file_ = File::open(folder_ / "a", O_RDWR | O_CREAT);
    file_.truncate(count * large);
    for (std::size_t i = 0; i < count; ++i) {
      tasks_.push_back(runtime.spawn([&, i] {
        std::vector<std::byte> data(large, static_cast<std::byte>(i));
        EXPECT_EQ(file_.pwrite(data, i * large), large);
      }));
    }
    held_->wait_for(depth());
    while (storage::StorageService::of(runtime.core())->in_flight() < count) {
      std::this_thread::yield();
    }
  }

  Starts starts_;
  std::shared_ptr<Held> held_;
  File file_;
  std::vector<Future<void>> tasks_;
};

TEST_P(AdmittedTest, EachIsStartedOnceByItsTask) {
  Runtime runtime(options());
  spawn_all(runtime);
  held_->release(true);
  runtime.wait();
  EXPECT_EQ(starts_.by_tasks(), count);
  std::vector<std::byte> data(large);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(file_.pread(data, i * large), large);
    EXPECT_EQ(std::count(data.begin(), data.end(), static_cast<std::byte>(i)), static_cast<std::ptrdiff_t>(large)) << i;
  }
}

// It is their turn, their tasks have been woken, and are cancelled before they run.
TEST_P(AdmittedTest, OneThatIsCancelledBeforeItsTaskStartsItIsNotStarted) {
  Runtime runtime(options(1));
  spawn_all(runtime);
  std::atomic<int> stage{0};
  auto busy = runtime.spawn([&] {
    stage = 1;
    while (stage == 1) {
    }
  });
  while (stage == 0) {
    std::this_thread::yield();
  }
  held_->release(true);
  std::vector<std::size_t> cancelled;
  for (std::size_t i = 0; i < count; ++i) {
    if (!starts_.was_started(i)) {
      tasks_[i].cancel();
      cancelled.push_back(i);
    }
  }
  EXPECT_EQ(cancelled.size(), count - depth());
  stage = 2;
  for (std::size_t i = 0; i < count; ++i) {
    const bool wanted = std::binary_search(cancelled.begin(), cancelled.end(), i);
    try {
      tasks_[i].get();
      EXPECT_FALSE(wanted) << i;
    } catch (const TaskFailed& failure) {
      EXPECT_TRUE(wanted && failure.cancelled()) << i << ": " << failure.what();
    }
    EXPECT_EQ(starts_.was_started(i), !wanted) << i;
  }
  busy.get();
}

DOVETAIL_FOR_EACH_ENGINE(AdmittedTest);

}  // namespace
}  // namespace dovetail::test
