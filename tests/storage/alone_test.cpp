// Transfers that a worker with nothing else to do performs by itself.
#include <fcntl.h>

#include "storage/open_file.hpp"
#include "storage/pieces.hpp"
#include "storage/storage_service.hpp"
#include "storage/time_alone.hpp"
#include "support.hpp"
#include "tasking/pause.hpp"

namespace dovetail::test {
namespace {

using storage::StorageService;
using storage::TimeAlone;

class AloneTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = storage::OpenFile::open(folder_ / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
    if (!file_->device().is_disk()) {
      GTEST_SKIP() << "the build tree does not lie on a file system of a block device";
    }
    File::open(folder_ / "a", O_WRONLY).pwrite(data_, 0);
  }
  // Whether the read was performed in place. In a task.
  bool read_alone(std::span<std::byte> into) {
    storage::Operation operation;
    operation.kind = storage::Kind::read;
    operation.data = into.data();
    operation.length = into.size();
    storage::Request request;
    bool needs_bounce = false;
    storage::set_up(request, *file_, operation, {0, into.size(), true}, needs_bounce);
    EXPECT_FALSE(needs_bounce);
    request.task = tasking::current_task();
    const StorageService::Here here = StorageService::here();
    const bool performed = here.service->perform_alone(request, file_->device(), here.worker);
    EXPECT_TRUE(!performed || (request.transferred == into.size() && request.error == 0));
    return performed;
  }

  Folder folder_;
  const std::vector<std::byte> data_ = random_bytes(256 * 1024, seed());
  std::shared_ptr<storage::OpenFile> file_;
};

TEST_F(AloneTest, AWorkerWithNothingElseToDoPerformsIt) {
  Runtime runtime(Options{.workers = 2, .engine = "auto"});
  runtime
      .spawn([&] {
        IoBuffer buffer(4096);
        while (!read_alone(buffer.span())) {  // the other worker is on its way to sleep
          std::this_thread::yield();
        }
        EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), data_.begin()));
        IoBuffer large(storage::most_inline + 4096);
        EXPECT_FALSE(read_alone(large.span()));
      })
      .get();
}

TEST_F(AloneTest, NotWhileTheOtherWorkerRunsATask) {
  Runtime runtime(Options{.workers = 2, .engine = "auto"});
  runtime
      .spawn([&] {
        IoBuffer buffer(4096);
        std::atomic<bool> runs{false};
        std::atomic<bool> go_on{false};
        Future<void> other = spawn([&] {
          runs.store(true);
          while (!go_on.load()) {
            std::this_thread::yield();
          }
        });
        while (!runs.load()) {
          std::this_thread::yield();
        }
        for (int i = 0; i < 1000; ++i) {
          EXPECT_FALSE(read_alone(buffer.span()));
        }
        go_on.store(true);
        other.get();
      })
      .get();
}

TEST_F(AloneTest, NotWhileARequestIsUnderWay) {
  Runtime runtime(Options{.workers = 2, .engine = "auto"});
  runtime
      .spawn([&] {
        IoBuffer buffer(4096);
        while (!read_alone(buffer.span())) {
          std::this_thread::yield();
        }
        const StorageService::Here here = StorageService::here();
        storage::Request waits;
        waits.ended = [](storage::Request& /*request*/) noexcept {};
        here.service->count_begun(waits, here.worker);
        for (int i = 0; i < 1000; ++i) {
          EXPECT_FALSE(read_alone(buffer.span()));
        }
        here.service->finish_early(waits, here.worker);
      })
      .get();
}

TEST_F(AloneTest, NotWhereAnEngineWasForcedOrThereIsOneWorker) {
  for (const Options& options : {Options{.workers = 2, .engine = "threads"}, Options{.workers = 1, .engine = "auto"}}) {
    Runtime runtime(options);
    runtime
        .spawn([&] {
          IoBuffer buffer(4096);
          for (int i = 0; i < 1000; ++i) {
            EXPECT_FALSE(read_alone(buffer.span()));
          }
        })
        .get();
  }
}

TEST(TimeAlone, ASlowDeviceIsLeftInPeaceAndTriedAgainSeldomer) {
  TimeAlone time;
  EXPECT_TRUE(time.quick());
  time.note(100);
  EXPECT_TRUE(time.quick());
  time.note(10'000);  // one slow request makes a slow average
  for (const std::uint32_t rest : {TimeAlone::first_rest, 2 * TimeAlone::first_rest, 4 * TimeAlone::first_rest}) {
    for (std::uint32_t i = 0; i < rest; ++i) {
      EXPECT_FALSE(time.quick()) << rest << " " << i;
    }
    EXPECT_TRUE(time.quick());
    time.note(10'000);
  }
  for (std::uint32_t i = 0; i < 8 * TimeAlone::first_rest; ++i) {
    EXPECT_FALSE(time.quick());
  }
  EXPECT_TRUE(time.quick());
  time.note(50);  // it has become quick
  EXPECT_TRUE(time.quick());
  time.note(10'000);
  for (std::uint32_t i = 0; i < TimeAlone::first_rest; ++i) {
    EXPECT_FALSE(time.quick());
  }
  EXPECT_TRUE(time.quick());
}

}  // namespace
}  // namespace dovetail::test
