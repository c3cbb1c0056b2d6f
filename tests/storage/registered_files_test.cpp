// Files that rings keep in tables of their own.
#include <fcntl.h>
#include <sys/wait.h>

#include "storage/file_registry.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

class RegisteredFilesTest : public EngineTest {
 protected:
  void TearDown() override { storage::Ring::allowed = {}; }
};

TEST_P(RegisteredFilesTest, OperationsDoTheSameAsOnAnyFile) {
  for (const bool registers : {true, false}) {
    storage::Ring::allowed.files = registers;
    for (const Direct direct : {Direct::never, Direct::automatic}) {
      Runtime runtime(options());
      const auto data = random_bytes(300'000, seed());
      std::vector<std::byte> back(data.size());
      File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC, {.direct = direct, .registered = true});
      EXPECT_EQ(file.registration(), Registration::none);
      for (std::size_t begin = 0; begin < data.size(); begin += 10'000) {
        runtime.spawn([&, begin] { file.ipwrite(std::span(data).subspan(begin, 10'000), begin); });
      }
      runtime.wait();
      runtime
          .spawn([&] {
            file.fdatasync();
            file.pwrite_durable(std::span(data).first(8192), 0);
            file.fallocate(0, data.size());
            EXPECT_EQ(file.pread(back, 0), back.size());
          })
          .get();
      EXPECT_EQ(back, data);
      if (std::string(GetParam()) == "uring") {
        EXPECT_EQ(file.registration(), registers ? Registration::accepted : Registration::none);
        EXPECT_EQ(file.registration_error(), 0);
      } else if (std::string(GetParam()) == "threads") {
        EXPECT_EQ(file.registration(), Registration::none);
      }
      runtime.spawn([&] { file.close(); }).get();
      EXPECT_EQ(file.registration(), Registration::none);
    }
  }
}

// A place is used again by another file; the ring must not go on to use the one before.
TEST_P(RegisteredFilesTest, FilesComeAndGo) {
  Runtime runtime(options());
  for (std::size_t round = 0; round < scaled(300, 50); ++round) {
    runtime.spawn([&, round] {
      const auto data = random_bytes(5000, round);
      std::vector<std::byte> back(data.size());
      const std::string path = folder_ / std::to_string(round);
      File file = File::open(path, O_RDWR | O_CREAT, {.registered = true});
      EXPECT_EQ(file.pwrite(data, 0), data.size());
      file.fdatasync();
      file.close();
      const File again = File::open(path, O_RDONLY, {.registered = true});
      EXPECT_EQ(again.pread(back, 0), back.size());
      EXPECT_EQ(back, data) << path;
    });
  }
  runtime.wait();
}

// The file is gone once it is closed: a ring that kept it would keep its space.
TEST(RegisteredFiles, NothingHoldsAClosedFile) {
  std::string why_not;
  if (storage::Ring::make(why_not) == nullptr) {
    GTEST_SKIP() << why_not;
  }
  Runtime runtime(Options{.workers = 2, .engine = "uring"});  // which alone writes to a pipe at an offset
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const std::string name = "/proc/self/fd/" + std::to_string(pipe_ends[1]);
  runtime
      .spawn([&] {
        File end = File::open(name, O_WRONLY, {.registered = true});
        const std::byte sent{1};
        EXPECT_EQ(end.pwrite(std::span(&sent, 1), 0), 1U);
        end.close();
      })
      .get();
  close(pipe_ends[1]);
  // Only a pipe that nobody can write to any more has an end.
  std::byte received[2];
  EXPECT_EQ(read(pipe_ends[0], received, 2), 1);
  EXPECT_EQ(read(pipe_ends[0], received, 2), 0);
  close(pipe_ends[0]);
}

DOVETAIL_FOR_EACH_ENGINE(RegisteredFilesTest);

TEST(FileRegistry, FilesThatFindNoPlaceAreUsedAsAnyOther) {
  using storage::FileRegistry;
  FileRegistry& registry = FileRegistry::instance();
  std::vector<unsigned> taken;
  for (unsigned slot = registry.acquire(); slot != FileRegistry::slots; slot = registry.acquire()) {
    taken.push_back(slot);
  }
  EXPECT_EQ(taken.size(), FileRegistry::slots);
  Folder folder;
  const File file = File::open(folder / "a", O_RDWR | O_CREAT, {.registered = true});
  EXPECT_EQ(file.registration(), Registration::refused);
  EXPECT_EQ(file.registration_error(), ENOSPC);
  const auto data = random_bytes(5000, seed());
  Runtime runtime(Options{.workers = 1});
  runtime.spawn([&] { EXPECT_EQ(file.pwrite(data, 0), data.size()); }).get();
  EXPECT_EQ(file.size(), data.size());
  const std::uint32_t before = registry.generation(taken.back());
  registry.release(taken.back());
  EXPECT_EQ(registry.acquire(), taken.back());
  EXPECT_NE(registry.generation(taken.back()), before);
  for (const unsigned slot : taken) {
    registry.release(slot);
  }
}

}  // namespace
}  // namespace dovetail::test
