// The logs of a tier stay within their budget, and what does not fit is in the final file.
#include "staging/tier_budget.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

#include "base/available_memory.hpp"
#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/shared_tiered_file.hpp"
#include "staging/tier_folders.hpp"
#include "staging/tier_support.hpp"
#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

constexpr std::uint64_t free_of_each = std::uint64_t{64} << 10;

class TierBudgetTest : public TierTest {
 protected:
  std::string writer(unsigned number) const { return writer_folder(log, number); }
  // The bytes that writer number `number` writes, each its own. Status 0: all writes were taken.
  int write_all(unsigned number, std::size_t pieces, std::size_t piece_bytes) const {
    TierSettings own = settings;
    own.calls = &FileCalls::system();
    own.shared = true;
    const TakenGeneration taken = take_generation(final_path, tier, 1);
    own.generation = taken.generation;
    TieredFile::Opened opened = TieredFile::open(writer(number), final_path, own);
    if (opened.failure) {
      return 1;
    }
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const Bytes bytes(piece_bytes, value_of(number, piece));
      if (opened.file->write((number * pieces + piece) * piece_bytes, bytes)) {
        return 2;
      }
    }
    return 0;
  }
  static std::byte value_of(unsigned number, std::size_t piece) {
    return static_cast<std::byte>(number * 37 + piece % 30 + 1);
  }
};

TEST(TierSettingsTest, EnvironmentSetsTheLimits) {
  EXPECT_EQ(settings_from_environment().budget_bytes, 0U);
  ::setenv("DOVETAIL_TIER_BUDGET_MB", "3", 1);
  ::setenv("DOVETAIL_DRAIN_BANDWIDTH", "70", 1);
  const TierSettings settings = settings_from_environment();
  EXPECT_EQ(settings.budget_bytes, 3U << 20);
  EXPECT_EQ(settings.drain.bytes_per_second, 70'000'000U);
  for (const char* const name : {"DOVETAIL_TIER_BUDGET_MB", "DOVETAIL_DRAIN_BANDWIDTH"}) {
    ::setenv(name, "much", 1);
    try {
      settings_from_environment();
      ADD_FAILURE() << name << " is not refused";
    } catch (const std::invalid_argument& failure) {
      EXPECT_NE(std::string(failure.what()).find(name), std::string::npos);
    }
    ::unsetenv(name);
  }
}

TEST_F(TierBudgetTest, UseIsThatOfLogsAlone) {
  EXPECT_EQ(use_of(tier).logs, 0U);
  EXPECT_EQ(use_of(tier + "/none").bytes, 0U);
  auto file = open();
  ASSERT_EQ(file->write(0, Bytes(10'000)).text(), "");
  std::filesystem::create_directory(tier + "/other");
  put(tier + "/other/large", Bytes(50'000));
  put(tier + "/final-0123456789abcdef", Bytes(50'000));
  std::uint64_t expected = 0;
  for (const auto& entry : std::filesystem::directory_iterator(log)) {
    expected += entry.file_size();
  }
  EXPECT_EQ(use_of(tier).bytes, expected);
  EXPECT_EQ(use_of(tier).logs, 1U);
  EXPECT_GE(expected, 10'000U);
}

TEST_F(TierBudgetTest, UsualOneIsOfWhatIsFree) {
  struct statfs status{};
  ASSERT_EQ(::statfs(tier.c_str(), &status), 0);
  const double free = static_cast<double>(status.f_bavail) * static_cast<double>(status.f_bsize);
  // Others write as well.
  const bool in_memory = status.f_type == 0x01021994;
  const double expected =
      in_memory ? std::min(0.9 * free, static_cast<double>(base::available_memory()) / 2) : 0.9 * free;
  EXPECT_NEAR(static_cast<double>(usual_budget(tier, 0)), expected, 0.1 * expected);
  // What the logs take is theirs already.
  EXPECT_GT(usual_budget(tier, std::uint64_t{1} << 50), std::uint64_t{1} << 48);
}

TEST_F(TierBudgetTest, LogStaysWithinItAndNothingIsLost) {
  constexpr std::uint64_t limit = 400'000;
  settings.budget_bytes = limit;
  PlainModel model;
  std::uint64_t most = 0;
  auto file = open();
  for (std::uint64_t step = 0; step < test::scaled(300, 100); ++step) {
    const Change change = Change::some(test::seed(), step, 1'000'000, 50'000);
    change.make(model);
    ASSERT_EQ(change.make(*file).text(), "") << "step " << step;
    most = std::max(most, use_of(tier).bytes);
  }
  EXPECT_LE(most, limit + free_of_each);
  EXPECT_GT(most, limit / 2) << "it is used";
  EXPECT_EQ(file->written_through(), 0U) << "a drain gives back all of it";
  EXPECT_TRUE(same(all_of(*file), model.bytes));
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), model.bytes));
}

TEST_F(TierBudgetTest, WhereOthersHaveItAllWritesGoThrough) {
  settings.budget_bytes = 300'000;
  const std::string other_path = folder / "other";
  put(other_path, {});
  const FolderName other = folder_of(tier, other_path);
  {
    TierSettings unlimited;
    auto opened = TieredFile::open(other.folder, other.final_path, unlimited);
    ASSERT_EQ(opened.failure.text(), "");
    ASSERT_EQ(opened.file->write(0, Bytes(299'000, std::byte{9})).text(), "");
  }
  auto file = open();
  const Bytes bytes = test::random_bytes(500'000, 3);
  EXPECT_EQ(file->write_on_tier(0, bytes).error, ENOSPC);
  ASSERT_EQ(file->write(0, bytes).text(), "");
  EXPECT_EQ(file->written_through(), bytes.size());
  EXPECT_TRUE(same(bytes_of(final_path), bytes));
  ASSERT_EQ(recover(other.folder).failure.text(), "");
  ASSERT_EQ(file->write(0, Bytes(100'000)).text(), "");
  EXPECT_EQ(file->written_through(), bytes.size()) << "there is space again";
  ASSERT_EQ(file->finish().text(), "");
}

TEST_F(TierBudgetTest, ProcessesShareIt) {
  constexpr unsigned writers = 4;
  constexpr std::size_t pieces = 60;
  constexpr std::size_t piece_bytes = 50'000;
  constexpr std::uint64_t limit = 2'000'000;
  settings.budget_bytes = limit;
  std::vector<pid_t> children;
  for (unsigned number = 0; number < writers; ++number) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(write_all(number, pieces, piece_bytes));
    }
    children.push_back(child);
  }
  std::uint64_t most = 0;
  for (const pid_t child : children) {
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) == 0) {
      most = std::max(most, use_of(tier).bytes);
    }
    EXPECT_EQ(status, 0);
  }
  most = std::max(most, use_of(tier).bytes);
  EXPECT_LE(most, limit + limit / 8 +
                      writers * (free_of_each + free_of_each));  // and what is reserved for the note of a drain
  EXPECT_GT(most, limit / 4);
  EXPECT_EQ(recover_writers(log).failure.text(), "");
  const Bytes bytes = bytes_of(final_path);
  ASSERT_EQ(bytes.size(), writers * pieces * piece_bytes);
  for (std::size_t piece = 0; piece < writers * pieces; ++piece) {
    ASSERT_EQ(bytes[piece * piece_bytes + 7], value_of(static_cast<unsigned>(piece / pieces), piece % pieces)) << piece;
  }
}

// In a process of its own, which sees a mount that no other one sees.
TEST_F(TierBudgetTest, SmallTierInMemoryIsNotFilled) {
  constexpr std::uint64_t tier_bytes = std::uint64_t{4} << 20;
  constexpr int no_mount = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", tier.c_str(), "tmpfs", 0, "size=4m") != 0) {
      ::_exit(no_mount);
    }
    settings.segment_bytes = std::size_t{1} << 20;
    settings.calls = &FileCalls::system();
    auto opened = TieredFile::open(log, final_path, settings);
    std::uint64_t most = 0;
    for (std::uint64_t end = 0; !opened.failure && end < 3 * tier_bytes; end += 100'000) {
      opened.failure = opened.file->write(end, Bytes(100'000, std::byte{1}));
      struct statfs status{};
      ::statfs(tier.c_str(), &status);
      most = std::max<std::uint64_t>(most,
                                     (status.f_blocks - status.f_bfree) * static_cast<std::uint64_t>(status.f_bsize));
    }
    const bool is_right = !opened.failure && most > tier_bytes / 2 && most < tier_bytes - tier_bytes / 20 &&
                          opened.file->written_through() == 0 && !opened.file->finish();
    ::_exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_mount) {
    GTEST_SKIP() << "no file system can be mounted here";
  }
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  const Bytes bytes = bytes_of(final_path);
  EXPECT_GE(bytes.size(), 3 * tier_bytes);
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{1}; }));
}

// Last, since it starts threads: the child of a fork would have their remains.
TEST_F(TierBudgetTest, DrainsBeginEarlierWhereLittleIsLeft) {
  std::atomic<bool> drained = false;
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::sync && asked.path() == final_path) {
      drained = true;
      drained.notify_all();
    }
    return Fault{};
  };
  settings.segment_bytes = std::size_t{4} << 20;
  settings.budget_bytes = 900'000;
  const SharedTieredFile::Opened opened = SharedTieredFile::open(tier, final_path, settings);
  ASSERT_EQ(opened.failure.text(), "");
  std::uint64_t end = 0;
  while (!opened.file->file().is_tier_nearly_full()) {
    ASSERT_EQ(opened.file->file().write(end, Bytes(30'000, std::byte{1})).text(), "");
    opened.file->wrote();
    end += 30'000;
    ASSERT_LT(end, 900'000U);
  }
  drained.wait(false);
  EXPECT_EQ(opened.file->close().text(), "");
  EXPECT_EQ(bytes_of(final_path).size(), end);
}

}  // namespace
}  // namespace dovetail::staging
