// The operations over storage that misbehaves.
#include "fault_engine.hpp"

#include <fcntl.h>

#include "support.hpp"

namespace dovetail::test {
namespace {

using FaultTest = EngineTest;

// A plan that a test writes down in place.
class Scripted final : public FaultPlan {
 public:
  explicit Scripted(std::function<Fault(const storage::Request&)> script) : script_(std::move(script)) {}
  Fault next(const storage::Request& request) override {
    const std::lock_guard lock(mutex_);
    return script_(request);
  }

 private:
  std::mutex mutex_;
  std::function<Fault(const storage::Request&)> script_;
};

TEST_P(FaultTest, ShortInterruptedLateAndReorderedTransfersStillMoveEverything) {
  FaultEngine::install(
      std::make_shared<RandomFaults>(seed(), RandomFaults::Rates{.shorten = 0.5, .interrupt = 0.2, .delay = 0.3}));
  Runtime runtime(options());
  for (const Direct direct : {Direct::never, Direct::automatic}) {
    const File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC, {.direct = direct});
    const auto data = random_bytes(scaled(3000000, 600000), seed());
    std::vector<std::byte> back(data.size());
    constexpr std::size_t step = 37777;
    for (std::size_t begin = 0; begin < data.size(); begin += step) {
      const std::size_t length = std::min(step, data.size() - begin);
      runtime.spawn({.access = {out(file, begin, length)}}, [&, begin, length] {
        const std::span part = std::span(data).subspan(begin, length);
        if (begin / step % 2 == 0) {
          EXPECT_EQ(file.pwrite(part, begin), length);
        } else {
          file.ipwrite(part, begin);
        }
      });
      runtime.spawn({.access = {in(file, begin, length)}}, [&, begin, length] {
        std::byte* to = back.data() + begin;
        const std::vector<iovec> list = {{to, length / 3}, {to + length / 3, length - length / 3}};
        if (begin / step % 3 == 0) {
          EXPECT_EQ(file.preadv(list, begin), length);
        } else {
          file.ipreadv(list, begin);
        }
      });
    }
    runtime.wait();
    EXPECT_TRUE(back == data);
  }
}

TEST_P(FaultTest, AnErrorFailsTheTaskAndCancelsItsSuccessors) {
  FaultEngine::install(std::make_shared<Scripted>(
      [](const storage::Request& request) { return Fault{.error = request.offset == 8192 ? EIO : 0}; }));
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  const auto data = random_bytes(4096, seed());
  std::atomic<int> ran{0};
  std::vector<Future<void>> writers;
  for (std::uint64_t i = 0; i < 4; ++i) {
    writers.push_back(runtime.spawn({.label = "write", .access = {out(file, 4096 * i, 4096)}},
                                    [&, i] { file.ipwrite(data, 4096 * i); }));
  }
  auto reader = runtime.spawn({.label = "read", .access = {in(file, 0, 4 * 4096)}}, [&] { ran.fetch_add(1); });
  for (std::size_t i = 0; i < writers.size(); ++i) {
    if (i != 2) {
      EXPECT_NO_THROW(writers[i].get());
      continue;
    }
    try {
      writers[i].get();
      FAIL() << "the write did not fail";
    } catch (const TaskFailed& failure) {
      const IoError error = io_error_of(failure);
      EXPECT_EQ(error.code().value(), EIO);
      EXPECT_EQ(error.offset(), 8192U);
      EXPECT_EQ(error.length(), 4096U);
    }
  }
  EXPECT_THROW(reader.get(), TaskFailed);
  EXPECT_EQ(ran.load(), 0);
}

TEST_P(FaultTest, AnErrorAfterAPartSaysHowFarItGot) {
  FaultEngine::install(std::make_shared<Scripted>([](const storage::Request& request) {
    return request.transferred == 0 ? Fault{.shorten = true} : Fault{.error = ENOSPC};
  }));
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  runtime
      .spawn([&] {
        try {
          file.pwrite(std::string(100000, 'x'), 1000);
          FAIL() << "a full device took everything";
        } catch (const IoError& error) {
          EXPECT_EQ(error.code().value(), ENOSPC);
          EXPECT_EQ(error.offset(), 51000U);
          EXPECT_EQ(error.length(), 50000U);
        }
      })
      .get();
  EXPECT_EQ(file.size(), 51000U);
}

TEST_P(FaultTest, ARetriedTaskGetsOverAFault) {
  int faults = 2;
  FaultEngine::install(std::make_shared<Scripted>(
      [&faults](const storage::Request&) { return Fault{.error = faults-- > 0 ? EIO : 0}; }));
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  const auto data = random_bytes(1000, seed());
  runtime.spawn({.on_failure = retry(3)}, [&] { file.pwrite(data, 0); }).get();
  std::vector<std::byte> back(data.size());
  EXPECT_EQ(file.pread(back, 0), data.size());
  EXPECT_TRUE(back == data);
}

TEST_P(FaultTest, ManyRandomErrorsLoseNothing) {
  FaultEngine::install(std::make_shared<RandomFaults>(
      seed(), RandomFaults::Rates{.error = 0.2, .error_number = EIO, .shorten = 0.2, .delay = 0.2}));
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  const auto data = random_bytes(4096, seed());
  std::vector<Future<void>> tasks;
  const std::size_t count = scaled(2000, 300);
  for (std::uint64_t i = 0; i < count; ++i) {
    tasks.push_back(
        runtime.spawn([&, i] { i % 2 == 0 ? file.ipwrite(data, i * 4096) : void(file.pwrite(data, i * 4096)); }));
  }
  std::size_t failed = 0;
  std::vector<char> written(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    try {
      tasks[i].get();
      written[i] = 1;
    } catch (const TaskFailed& failure) {
      EXPECT_EQ(io_error_of(failure).code().value(), EIO);
      ++failed;
    }
  }
  EXPECT_GT(failed, 0U);
  EXPECT_LT(failed, count);
  const File check = File::open(folder_ / "a", O_RDONLY);
  std::vector<std::byte> back(4096);
  for (std::size_t i = 0; i < count; ++i) {
    if (written[i] != 0) {
      ASSERT_EQ(check.pread(back, i * 4096), back.size());
      ASSERT_TRUE(back == data) << "write " << i << " was acknowledged";
    }
  }
}

DOVETAIL_FOR_EACH_ENGINE(FaultTest);

}  // namespace
}  // namespace dovetail::test
