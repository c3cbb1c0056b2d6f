// Another layer's service beside the one that parks the workers.
#include "tasking/service.hpp"

#include <fcntl.h>

#include <atomic>
#include <memory>

#include "support.hpp"

namespace dovetail {
namespace {

// Something that a worker keeps from one task to the next, and that others wait for.
std::atomic<bool> kept{false};

class Keeper final : public tasking::Service {
 public:
  unsigned poll(unsigned /*worker*/, tasking::PollScope /*scope*/) override { return 0; }
  void flush(unsigned /*worker*/) override {
    if (kept.exchange(false)) {
      kept.notify_all();
    }
  }
  std::size_t in_flight() const noexcept override { return 0; }
};

class SecondServiceTest : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    static const char key = 0;
    static const bool registered = tasking::register_service(
        &key, [](detail::RuntimeCore&, const Options&, unsigned) { return std::make_unique<Keeper>(); });
    ASSERT_TRUE(registered);
  }
};

// A failure is a hang.
TEST_P(SecondServiceTest, IsFlushedBeforeItsWorkerSleeps) {
  const test::Folder folder;
  const File file = File::open(folder / "file", O_RDWR | O_CREAT);
  for (unsigned workers = 1; workers <= 2; ++workers) {
    Runtime runtime(Options{.workers = workers, .engine = GetParam()});
    for (int round = 0; round < 100; ++round) {
      runtime.spawn([&] {
        const std::byte data[16] = {};
        file.pwrite(data, 0);  // so that workers sleep with operations, or just after
        kept = true;
        tasking::request_flush();
      });
      if (round % 2 == 0) {
        runtime.wait();
      }
      kept.wait(true);
    }
    runtime.wait();
    kept.wait(true);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, SecondServiceTest, testing::Values("uring", "threads"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace dovetail
