// A final file that several processes write, each with a log of its own.
#include <sys/file.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/descriptor.hpp"
#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"
#include "staging/tier_support.hpp"

namespace dovetail::staging {
namespace {

class TierSharedTest : public TierTest {
 protected:
  std::string writer(unsigned number) const { return writer_folder(log, number); }
  std::unique_ptr<TieredFile> open_writer(unsigned number) const {
    const TakenGeneration taken = take_generation(final_path, tier, 1);
    EXPECT_EQ(taken.failure.text(), "");
    TieredFile::Opened opened =
        TieredFile::open(writer(number), final_path, {.shared = true, .generation = taken.generation});
    EXPECT_EQ(opened.failure.text(), "");
    return std::move(opened.file);
  }
  static void write(TieredFile& file, std::uint64_t offset, const Bytes& bytes) {
    ASSERT_EQ(file.write(offset, bytes).text(), "");
  }
};

TEST_F(TierSharedTest, SizeThatOthersHaveSetStays) {
  put(final_path, Bytes(1000));
  const auto file = open_writer(0);
  write(*file, 10, Bytes(20, std::byte{1}));
  std::filesystem::resize_file(final_path, 100);
  EXPECT_EQ(file->size(), 100U);
  EXPECT_EQ(file->drain().text(), "");
  EXPECT_EQ(bytes_of(final_path).size(), 100U);
  EXPECT_EQ(file->set_size(5).error, ENOTSUP);
}

TEST_F(TierSharedTest, OthersBytesAreSeenOnceTheyAreDrained) {
  put(final_path, {});
  const auto first = open_writer(0);
  const auto second = open_writer(1);
  write(*first, 0, Bytes(100, std::byte{1}));
  write(*second, 100, Bytes(50, std::byte{2}));
  EXPECT_EQ(first->size(), 100U);
  EXPECT_EQ(first->staged_end(), 100U);
  EXPECT_EQ(second->drain().text(), "");
  EXPECT_EQ(second->staged_end(), 0U);
  EXPECT_EQ(first->size(), 150U);
  Bytes expected(100, std::byte{1});
  expected.resize(150, std::byte{2});
  EXPECT_TRUE(same(read(*first, 0, 1000), expected));
  EXPECT_EQ(first->drain().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), expected));
}

TEST_F(TierSharedTest, RecoveryTakesTheFoldersOfTheDeadOnly) {
  put(final_path, {});
  for (const unsigned number : {0U, 2U, 10U}) {
    write(*open_writer(number), number * 10, Bytes(10, static_cast<std::byte>(number + 1)));
  }
  const auto alive = open_writer(1);
  write(*alive, 10, Bytes(10, std::byte{9}));
  FileFailure failure;
  EXPECT_EQ(writer_folders(log, failure), (std::vector{writer(0), writer(1), writer(2), writer(10)}));
  const WriterRecovery recovery = recover_writers(log);
  EXPECT_EQ(recovery.failure.text(), "");
  EXPECT_EQ(recovery.recovered, (std::vector{writer(0), writer(2), writer(10)}));
  EXPECT_EQ(writer_folders(log, failure), std::vector{writer(1)});
  const Bytes bytes = bytes_of(final_path);
  ASSERT_EQ(bytes.size(), 110U);
  EXPECT_EQ(bytes[5], std::byte{1});
  EXPECT_EQ(bytes[15], std::byte{0});
  EXPECT_EQ(bytes[25], std::byte{3});
  EXPECT_EQ(bytes[105], std::byte{11});
}

// A program may start another one while a file is opened.
TEST_F(TierSharedTest, ChildOfAForkDoesNotKeepTheLockOfTheTier) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::optional<TierLock> held(lock_tier(tier));
  ASSERT_EQ(held->failure.text(), "");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char byte = 0;
    _exit(static_cast<int>(::read(ends[0], &byte, 1)));  // until the parent closes its end
  }
  held.reset();
  const std::string path = tier + "/.dovetail-" + std::to_string(::geteuid()) + ".lock";
  const base::Descriptor lock(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0) << errno;
  ::close(ends[1]);
  ::close(ends[0]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

// What it holds may be newer than what could not be brought into the file, and would be overwritten later.
TEST_F(TierSharedTest, NothingBehindAFailureIsRecovered) {
  put(final_path, {});
  const Bytes older(10, std::byte{1});
  const Bytes newer(10, std::byte{2});
  write(*open_writer(2), 0, older);
  write(*open_writer(10), 0, newer);
  WatchedCalls failing;
  failing.before = [&](const WatchedCalls::Asked& asked) {
    const bool is_first = asked.kind == WatchedCalls::Kind::read && asked.path().starts_with(writer(2) + "/");
    return WatchedCalls::Fault{.error = is_first ? EIO : 0};
  };
  TierSettings with_failure = settings;
  with_failure.calls = &failing;
  EXPECT_EQ(recover_writers(log, with_failure).failure.error, EIO);
  EXPECT_EQ(std::filesystem::file_size(final_path), 0U);
  const WriterRecovery recovery = recover_writers(log);
  EXPECT_EQ(recovery.failure.text(), "");
  EXPECT_EQ(recovery.recovered, (std::vector{writer(2), writer(10)}));
  EXPECT_TRUE(same(bytes_of(final_path), newer));
}

TEST_F(TierSharedTest, FoldersOfAnotherFileOfThatNameAreLeftAlone) {
  put(final_path, {});
  write(*open_writer(0), 0, Bytes(10, std::byte{1}));
  std::filesystem::rename(final_path, final_path + ".old");
  put(final_path, {});
  const WriterRecovery recovery = recover_writers(log);
  EXPECT_EQ(recovery.failure.text(), "");
  EXPECT_EQ(recovery.orphans, std::vector{writer(0)});
  EXPECT_TRUE(std::filesystem::exists(writer(0)));
  EXPECT_TRUE(bytes_of(final_path).empty());
}

}  // namespace
}  // namespace dovetail::staging
