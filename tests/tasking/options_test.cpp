// Settings: defaults, the environment, and what is refused, with a name that tells where to look.
#include <cstdlib>
#include <filesystem>

#include "support.hpp"
#include "tasking/settings.hpp"

namespace dovetail::test {
namespace {

/// Sets a variable of the environment for a while.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

class OptionsTest : public testing::Test {
 protected:
  OptionsTest() {
    for (const char* name :
         {"DOVETAIL_WORKERS", "DOVETAIL_IO_EXECUTORS", "DOVETAIL_STACK_SIZE", "DOVETAIL_ENGINE", "DOVETAIL_TRACE"}) {
      unsetenv(name);
    }
  }
  static std::string refusal(const Options& options) {
    try {
      Runtime runtime(options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(OptionsTest, DefaultsSuitTheMachine) {
  Runtime runtime;
  EXPECT_GE(runtime.workers(), 1U);
  EXPECT_EQ(runtime.options().workers, runtime.workers());
  EXPECT_EQ(runtime.options().io_executors, 64U);
  EXPECT_EQ(runtime.options().stack_size, 1024U * 1024);
  EXPECT_EQ(runtime.options().pending_limit, 0U) << "follows the tasks";
  EXPECT_FALSE(runtime.options().engine.empty());
  EXPECT_EQ(runtime.options().trace, "");
  EXPECT_EQ(runtime.options().stuck_after, std::chrono::milliseconds(0)) << "no task is ended because others take long";
  EXPECT_EQ(runtime.options().report_after, std::chrono::seconds(5)) << "and what waits for what is said";
}

TEST_F(OptionsTest, FromTheEnvironment) {
  const Variable workers("DOVETAIL_WORKERS", "3");
  const Variable executors("DOVETAIL_IO_EXECUTORS", "5");
  const Variable stack("DOVETAIL_STACK_SIZE", "65536");
  Runtime runtime;
  EXPECT_EQ(runtime.workers(), 3U);
  EXPECT_EQ(runtime.options().io_executors, 5U);
  EXPECT_EQ(runtime.options().stack_size, 65536U);
}

TEST_F(OptionsTest, CodeWinsOverTheEnvironment) {
  const Variable workers("DOVETAIL_WORKERS", "3");
  const Variable stack("DOVETAIL_STACK_SIZE", "no number, but not asked for");
  Runtime runtime(Options{.workers = 2, .stack_size = 128 * 1024});
  EXPECT_EQ(runtime.workers(), 2U);
  EXPECT_EQ(runtime.options().stack_size, 128U * 1024);
}

TEST_F(OptionsTest, AnEmptyVariableIsAsGoodAsNone) {
  const Variable workers("DOVETAIL_WORKERS", "");
  Runtime runtime;
  EXPECT_GE(runtime.workers(), 1U);
}

TEST_F(OptionsTest, SenselessVariablesAreRefusedByName) {
  for (const char* name : {"DOVETAIL_WORKERS", "DOVETAIL_IO_EXECUTORS", "DOVETAIL_STACK_SIZE"}) {
    for (const char* value : {"0", "-1", "many", "3x", "3.5", "99999999999999999999999", "99999999999", " "}) {
      const Variable variable(name, value);
      const std::string message = refusal(Options{});
      EXPECT_NE(message.find(name), std::string::npos) << name << "=" << value << ": " << message;
      EXPECT_NE(message.find(value), std::string::npos) << name << "=" << value << ": " << message;
    }
  }
}

TEST_F(OptionsTest, TheEndsOfARangeBelongToIt) {
  const Variable least("DOVETAIL_TEST_LEAST", "3");
  const Variable most("DOVETAIL_TEST_MOST", "8");
  EXPECT_EQ(tasking::number_from_environment("DOVETAIL_TEST_LEAST", 5, 3, 8), 3U);
  EXPECT_EQ(tasking::number_from_environment("DOVETAIL_TEST_MOST", 5, 3, 8), 8U);
  EXPECT_THROW(tasking::number_from_environment("DOVETAIL_TEST_LEAST", 5, 4, 8), std::invalid_argument);
  EXPECT_THROW(tasking::number_from_environment("DOVETAIL_TEST_MOST", 5, 3, 7), std::invalid_argument);
}

TEST_F(OptionsTest, SenselessFieldsAreRefusedByName) {
  EXPECT_NE(refusal(Options{.workers = 1'000'000}).find("workers"), std::string::npos);
  EXPECT_NE(refusal(Options{.workers = 1, .io_executors = 1'000'000}).find("io_executors"), std::string::npos);
  EXPECT_NE(refusal(Options{.workers = 1, .stack_size = 17}).find("stack_size"), std::string::npos);
  EXPECT_NE(refusal(Options{.workers = 1, .stack_size = ~std::size_t{0}}).find("stack_size"), std::string::npos);
  EXPECT_NE(refusal(Options{.workers = 1, .stuck_after = std::chrono::milliseconds(-1)}).find("stuck_after"),
            std::string::npos);
}

TEST_F(OptionsTest, ATraceWithAZeroByteInItsPathIsRefusedAndNotCut) {
  std::string folder = (std::filesystem::temp_directory_path() / "dovetail-options-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string message = refusal(Options{.workers = 1, .trace = folder + std::string("/a\0b", 4)});
  EXPECT_NE(message.find("Options::trace"), std::string::npos) << message;
  EXPECT_NE(message.find("a\\0b"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
}

TEST_F(OptionsTest, ARefusedRuntimeLeavesNothingRunning) {
  const std::size_t threads = count_threads();
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(refusal(Options{.workers = 2, .stack_size = 17}), "");
  }
  EXPECT_EQ(count_threads(), threads);
}

TEST_F(OptionsTest, WorkersMayBeBound) {
  Runtime runtime(Options{.workers = 3, .bind_workers = true});
  std::atomic<int> done{0};
  for (int i = 0; i < 100; ++i) {
    runtime.spawn([&] { done.fetch_add(1); });
  }
  runtime.wait();
  EXPECT_EQ(done.load(), 100);
  EXPECT_TRUE(runtime.options().bind_workers);
}

TEST_F(OptionsTest, AStackAsLargeAsAsked) {
  Runtime runtime(Options{.workers = 1, .stack_size = 4 * 1024 * 1024});
  auto future = runtime.spawn([] {
    volatile char large[3 * 1024 * 1024];
    for (std::size_t i = 0; i < sizeof large; i += 4096) {
      large[i] = 1;
    }
    this_task::yield();
    return static_cast<int>(large[4096]);
  });
  EXPECT_EQ(future.get(), 1);
}

TEST_F(OptionsTest, MoreWorkersThanCores) {
  Runtime runtime(Options{.workers = 16});
  std::atomic<int> done{0};
  for (int i = 0; i < 1'000; ++i) {
    runtime.spawn([&] { done.fetch_add(1); });
  }
  runtime.wait();
  EXPECT_EQ(done.load(), 1'000);
}

}  // namespace
}  // namespace dovetail::test
