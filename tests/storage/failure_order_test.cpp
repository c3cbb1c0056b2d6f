// In which order failures of storage are told, and that none is told twice.
#include <fcntl.h>

#include "held.hpp"

namespace dovetail::test {
namespace {

class FailureOrderTest : public EngineTest {
 protected:
  // The label of what `wait` throws; empty if it throws nothing.
  static std::string told(Runtime& runtime) {
    try {
      runtime.wait();
    } catch (const TaskFailed& failure) {
      EXPECT_EQ(io_error_of(failure).code().value(), EIO);
      return failure.label();
    }
    return "";
  }
};

TEST_P(FailureOrderTest, WaitTellsTheFirstToFailThatNobodyHasTaken) {
  const auto held = Held::install();
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  const auto data = random_bytes(512, seed());
  std::vector<Future<void>> tasks;
  for (std::uint64_t i = 0; i < 6; ++i) {
    tasks.push_back(runtime.spawn({.label = std::to_string(i)}, [&, i] {
      i % 2 == 0 ? file.ipwrite(data, i * 512) : void(file.pwrite(data, i * 512));
    }));
  }
  held->wait_for(tasks.size());
  // Not in the order of spawning, so that the order of failing is seen.
  for (const std::uint64_t i : {4, 1, 5, 0, 2, 3}) {
    held->end_at(i * 512, i == 2 ? 512 : -EIO);
    tasks[i].wait();  // takes nothing
  }
  EXPECT_THROW(tasks[1].get(), TaskFailed);
  EXPECT_NO_THROW(tasks[2].get());
  EXPECT_EQ(told(runtime), "4");
  EXPECT_EQ(told(runtime), "5");
  EXPECT_THROW(tasks[3].get(), TaskFailed);
  EXPECT_EQ(told(runtime), "0");
  EXPECT_EQ(told(runtime), "");
  EXPECT_EQ(told(runtime), "");
}

DOVETAIL_FOR_EACH_ENGINE(FailureOrderTest);

}  // namespace
}  // namespace dovetail::test
