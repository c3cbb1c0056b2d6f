// Requests of files that differ in urgency, where the device is given one at a time.
#include <fcntl.h>

#include <vector>

#include "held.hpp"

namespace dovetail::test {
namespace {

// Whether transfers bypass the page cache.
class UrgencyTest : public testing::TestWithParam<Direct> {
 protected:
  static constexpr std::size_t large = 256 * 1024;  // more than what a core copies by itself
  static constexpr std::size_t count = 6;

  void SetUp() override {
    try {
      const File file = open(Urgency::program);
      file.truncate(count * large);
      // One at once: the level of each kind of large request begins with that, and looks for another only after many of them.
      struct stat status{};
      ASSERT_EQ(fstat(file.descriptor(), &status), 0);
      device::Device& device = device::device_of(status.st_dev, file.descriptor());
      for (unsigned kind = 0; kind < device::request_kinds; ++kind) {
        device::RequestLevel& level = device.requests(static_cast<device::RequestKind>(kind));
        level.begin_with(1);
        if (level.route().depth != 1) {
          GTEST_SKIP() << "nothing says how many requests this device should have";
        }
      }
    } catch (const IoError& error) {
      GTEST_SKIP() << "no direct files here: " << error.what();
    }
  }

  File open(Urgency urgency) const {
    return File::open(folder_ / "file", O_RDWR | O_CREAT, {.direct = GetParam(), .urgency = urgency});
  }

  // The urgencies of requests in the order in which the device is given them. The first is there when the others come: all of `behind`, then those
  // of the program.
  std::vector<Urgency> order(Urgency behind, bool writes, bool bound) {
    std::vector<Urgency> given;
    const auto held = Held::install([&](const storage::Request& request) { given.push_back(request.urgency); });
    Runtime runtime(Options{.workers = 1});
    const File patient = open(behind);
    const File urgent = open(Urgency::program);
    std::vector<std::byte> memory(count * large);
    for (std::size_t i = 0; i < count; ++i) {
      runtime.spawn([&, i] {
        const File& file = i < count - 2 ? patient : urgent;
        const std::span<std::byte> piece = std::span(memory).subspan(i * large, large);
        if (bound) {
          writes ? file.ipwrite(piece, i * large) : file.ipread(piece, i * large);
        } else {
          writes ? file.pwrite(piece, i * large) : file.pread(piece, i * large);
        }
      });
      while (storage::StorageService::of(runtime.core())->in_flight() <= i) {
        std::this_thread::yield();
      }
    }
    EXPECT_EQ(held->count(), 1U) << "the device is given one at a time";
    held->release(true);
    runtime.wait();
    return given;
  }

  const Folder folder_;
};

TEST_P(UrgencyTest, RequestsOfTheProgramStartBeforeThoseThatCameEarlier) {
  for (const bool writes : {true, false}) {
    for (const bool bound : {true, false}) {
      for (const Urgency behind : {Urgency::drain, Urgency::prefetch}) {
        const std::vector<Urgency> expected{behind, Urgency::program, Urgency::program, behind, behind, behind};
        EXPECT_EQ(order(behind, writes, bound), expected) << "writes: " << writes << ", bound: " << bound;
      }
    }
  }
}

TEST_P(UrgencyTest, ByDefaultAllAreOfTheProgram) {
  EXPECT_EQ(FileOptions{}.urgency, Urgency::program);
  std::vector<Urgency> given;
  const auto held = Held::install([&](const storage::Request& request) { given.push_back(request.urgency); });
  Runtime runtime(Options{.workers = 1});
  const File by_path = File::open(folder_ / "file", O_RDWR, {.direct = GetParam()});
  const File by_descriptor = File::from_descriptor(by_path.descriptor());
  std::vector<std::byte> memory(large);
  held->release(true);
  for (const File& file : {by_path, by_descriptor}) {
    runtime.spawn([&] { file.pwrite(memory, 0); }).get();
  }
  EXPECT_EQ(given, (std::vector<Urgency>{Urgency::program, Urgency::program}));
}

INSTANTIATE_TEST_SUITE_P(Ways, UrgencyTest, testing::Values(Direct::never, Direct::always),
                         [](const auto& way) { return way.param == Direct::never ? "Cached" : "Direct"; });

}  // namespace
}  // namespace dovetail::test
