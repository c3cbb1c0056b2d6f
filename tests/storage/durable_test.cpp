// Writes that are made durable in one go.
#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>

#include "fault_engine.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

using storage::Kind;

// Notes which kinds of attempts are made, and fails the syncs if told to.
class Noting final : public FaultPlan {
 public:
  explicit Noting(int sync_error = 0, bool shorten = false) : sync_error_(sync_error), shorten_(shorten) {}
  Fault next(const storage::Request& request) override {
    Fault fault;
    if (request.kind == Kind::fdatasync) {
      syncs.fetch_add(1);
      fault.error = sync_error_;
    } else if (request.kind == Kind::write) {
      writes.fetch_add(1);
      fault.shorten = shorten_ && request.remaining > 100;
    }
    return fault;
  }
  std::atomic<int> writes{0};
  std::atomic<int> syncs{0};

 private:
  const int sync_error_;
  const bool shorten_;
};

IoError failure_of(const Future<void>& task) {
  try {
    task.get();
  } catch (const TaskFailed& failure) {
    return io_error_of(failure);
  }
  throw std::logic_error("the task did not fail");
}

class DurableTest : public EngineTest {
 protected:
  void TearDown() override { storage::Ring::allowed = {}; }
};

TEST_P(DurableTest, WritesEverythingOnAnyKindOfFile) {
  for (const bool links : {true, false}) {
    storage::Ring::allowed.links = links;
    Runtime runtime(options());
    for (const Direct direct : {Direct::never, Direct::automatic}) {
      File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC, {.direct = direct});
      const auto data = random_bytes(300000, seed());
      std::vector<std::byte> back(data.size());
      constexpr std::size_t step = 30000;
      for (std::size_t i = 0; i < 10; ++i) {
        const auto part = std::span(data).subspan(i * step, step);
        runtime.spawn([&, i, part] { EXPECT_EQ(file.pwrite_durable(part, i * step), step); });
      }
      runtime.wait();
      runtime.spawn([&] { file.pread(back, 0); }).get();
      EXPECT_TRUE(back == data);
      EXPECT_EQ(file.pwrite_durable(std::string_view("outside of a task"), 0), 17U);
      file.close();
    }
  }
}

TEST_P(DurableTest, AnErrorTellsWhichHalfFailed) {
  Runtime runtime(options());
  const File full = File::open("/dev/full", O_WRONLY);
  const IoError write = failure_of(runtime.spawn([&] { full.pwrite_durable(std::string_view("data"), 4096); }));
  EXPECT_EQ(write.operation(), "pwrite");
  EXPECT_EQ(write.code().value(), ENOSPC);
  EXPECT_EQ(write.offset(), 4096U);
  // It takes data, but knows nothing of syncing.
  const File null = File::open("/dev/null", O_WRONLY);
  const IoError sync = failure_of(runtime.spawn([&] { null.pwrite_durable(std::string_view("data"), 100); }));
  EXPECT_EQ(sync.operation(), "fdatasync");
  EXPECT_EQ(sync.code().value(), EINVAL);
  EXPECT_EQ(sync.offset(), 104U);
  EXPECT_EQ(sync.length(), 0U);
}

TEST_P(DurableTest, AShortWriteIsContinuedAndThenSynced) {
  const auto plan = std::make_shared<Noting>(0, true);
  FaultEngine::install(plan);
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  const auto data = random_bytes(20000, seed());
  runtime.spawn([&] { EXPECT_EQ(file.pwrite_durable(data, 0), data.size()); }).get();
  EXPECT_GT(plan->writes.load(), 4);
  std::vector<std::byte> back(data.size());
  EXPECT_EQ(file.pread(back, 0), data.size());
  EXPECT_TRUE(back == data);
}

DOVETAIL_FOR_EACH_ENGINE(DurableTest);

class LinkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ring_available()) {
      GTEST_SKIP() << "no io_uring here";
    }
  }
  void TearDown() override { storage::Ring::allowed = {}; }
  // How many syncs were attempts of their own.
  int syncs(bool links, const std::function<void(const File&)>& body) {
    storage::Ring::allowed.links = links;
    const auto plan = std::make_shared<Noting>();
    FaultEngine::install(plan);
    Runtime runtime(Options{.workers = 1, .engine = "uring"});
    const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
    runtime.spawn([&] { body(file); }).get();
    return plan->syncs.load();
  }
  Folder folder_;
};

TEST_F(LinkTest, WithLinksBothAreOneSubmissionAndWithoutTwo) {
  const auto write = [](const File& file) { file.pwrite_durable(std::string_view("data"), 0); };
  EXPECT_EQ(syncs(true, write), 0);
  EXPECT_EQ(syncs(false, write), 1);
}

// The kernel writes less than was asked: it breaks the link, and what cannot be written is told.
TEST_F(LinkTest, AWriteThatTheKernelShortens) {
  struct sigaction before{};
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGXFSZ, &ignore, &before), 0);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit low{8192, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  syncs(true, [](const File& file) {
    try {
      file.pwrite_durable(std::vector<std::byte>(20000), 0);
      ADD_FAILURE() << "more was written than may be";
    } catch (const IoError& error) {
      EXPECT_EQ(error.operation(), "pwrite");
      EXPECT_EQ(error.code().value(), EFBIG);
      EXPECT_EQ(error.offset(), 8192U);
    }
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  sigaction(SIGXFSZ, &before, nullptr);
}

}  // namespace
}  // namespace dovetail::test
