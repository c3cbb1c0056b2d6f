// Memory that rings keep registered.
#include <fcntl.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/last_resort.hpp"
#include "storage/buffer_registry.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

class BuffersTest : public EngineTest {
 protected:
  void TearDown() override { storage::Ring::allowed = {}; }
};

// Transfers of all sizes and forms, in registered memory and across its end, direct and not, with and without registration.
TEST_P(BuffersTest, TransfersMoveTheSameBytesAsInAnyMemory) {
  for (const bool registers : {true, false}) {
    storage::Ring::allowed.buffers = registers;
    Runtime runtime(options());
    for (const Direct direct : {Direct::never, Direct::automatic}) {
      const File file = File::open(folder_ / "a", O_RDWR | O_CREAT | O_TRUNC, {.direct = direct});
      const auto data = random_bytes(1 << 20, seed());
      IoBuffer out(data.size());
      IoBuffer back(data.size());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(out.data()) % 4096, 0U);
      std::copy(data.begin(), data.end(), out.begin());
      for (std::size_t begin = 0, step = 4096; begin < data.size(); begin += step, step = 4096 + step * 2 % 300000) {
        const std::size_t length = std::min(step, data.size() - begin);
        runtime.spawn([&, begin, length] { file.ipwrite(out.span().subspan(begin, length), begin); });
      }
      runtime.wait();
      for (std::size_t begin = 0; begin < data.size(); begin += 65536) {
        runtime.spawn([&, begin] { EXPECT_EQ(file.pread(back.span().subspan(begin, 65536), begin), 65536U); });
      }
      runtime.wait();
      EXPECT_TRUE(std::equal(data.begin(), data.end(), back.begin()));
      runtime.spawn([&] { EXPECT_EQ(file.pwrite_durable(out.span().subspan(0, 8192), 8192), 8192U); }).get();
      if (direct == Direct::automatic && file.direct() && std::string(GetParam()) == "uring") {
        EXPECT_EQ(back.registration(), registers ? IoBuffer::Registration::accepted : IoBuffer::Registration::none);
      }
    }
  }
}

// A slot is used again by other memory; what was registered before must not be written to.
TEST_P(BuffersTest, BuffersComeAndGo) {
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
  const auto data = random_bytes(65536, seed());
  runtime.spawn([&] { file.pwrite(data, 0); }).get();
  for (std::size_t round = 0; round < scaled(300, 50); ++round) {
    runtime.spawn([&, round] {
      IoBuffer buffer(4096 * (1 + round % 16));
      EXPECT_EQ(std::count(buffer.begin(), buffer.end(), std::byte{0}), static_cast<std::ptrdiff_t>(buffer.size()));
      IoBuffer moved = std::move(buffer);
      EXPECT_EQ(file.pread(moved, 0), moved.size());
      EXPECT_TRUE(std::equal(moved.begin(), moved.end(), data.begin()));
    });
  }
  runtime.wait();
}

DOVETAIL_FOR_EACH_ENGINE(BuffersTest);

TEST(Buffers, FoundByWhatLiesWithinOne) {
  using storage::BufferRegistry;
  IoBuffer one(10000);
  IoBuffer two(5 << 20);
  const auto in = [](const std::byte* data, std::size_t bytes) { return BufferRegistry::find(data, bytes).slot; };
  EXPECT_NE(in(one.data(), 10000), BufferRegistry::slots);
  EXPECT_EQ(in(one.data(), 10001), BufferRegistry::slots);
  EXPECT_EQ(in(one.data() + 9999, 2), BufferRegistry::slots);
  EXPECT_EQ(in(two.data() + (4 << 20), 1 << 20), in(two.data(), 1));
  EXPECT_NE(in(one.data(), 1), in(two.data(), 1));
  std::byte elsewhere{};
  EXPECT_EQ(in(&elsewhere, 1), BufferRegistry::slots);
  const std::byte* const gone = one.data();
  one = IoBuffer();
  EXPECT_EQ(in(gone, 1), in(gone, 1));
  EXPECT_THROW(IoBuffer(std::size_t{1} << 60), std::bad_alloc);
}

// What the kernel notes of the mapping that an address lies in: two letters for each flag.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream text(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    if (text >> std::hex >> begin >> dash >> end && dash == '-') {
      inside = begin <= reinterpret_cast<std::uintptr_t>(address) && reinterpret_cast<std::uintptr_t>(address) < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + ' ';
    }
  }
  return {};
}

TEST(Buffers, LargeOnesAskForHugePages) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "this kernel has no transparent huge pages";
  }
  const IoBuffer large(std::size_t{4} << 20);
  const IoBuffer small(std::size_t{1} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % (std::size_t{2} << 20), 0U);
  EXPECT_NE(flags_of(large.data()).find(" hg "), std::string::npos) << flags_of(large.data());
  EXPECT_EQ(flags_of(small.data()).find(" hg "), std::string::npos) << flags_of(small.data());
}

TEST(Buffers, MoreThanCanBeRegisteredArePlainMemory) {
  std::vector<IoBuffer> many;
  for (unsigned i = 0; i < storage::BufferRegistry::slots + 10; ++i) {
    many.emplace_back(std::size_t{4096});
    many.back().data()[4095] = std::byte{1};
  }
  EXPECT_EQ(many.front().registration(), IoBuffer::Registration::none);
  EXPECT_EQ(many.front().registration_error(), 0);
  EXPECT_EQ(many.back().registration(), IoBuffer::Registration::refused);
  EXPECT_EQ(many.back().registration_error(), ENOSPC);
}

// A child that drops what it inherited must not take it from the parent's rings.
TEST(Buffers, AForkDropsItsCopiesOnly) {
  if (!ring_available()) {
    GTEST_SKIP() << "no io_uring here";
  }
  Folder folder;
  Runtime runtime(Options{.workers = 1, .engine = "uring"});
  const File file = File::open(folder / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
  auto buffer = std::make_unique<IoBuffer>(std::size_t{65536});
  runtime.spawn([&] { file.pwrite(*buffer, 0); }).get();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(last_resort_seconds);
    buffer.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  runtime.spawn([&] { EXPECT_EQ(file.pread(*buffer, 0), buffer->size()); }).get();
}

}  // namespace
}  // namespace dovetail::test
