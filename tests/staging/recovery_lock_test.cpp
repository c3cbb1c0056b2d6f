// A recovery holds the lock of its log alone: what other openings wait for while one goes on.
#include <future>
#include <string>
#include <thread>

#include "staging/placement.hpp"
#include "staging/shared_tiered_file.hpp"
#include "staging/tier_folders.hpp"
#include "staging/tier_support.hpp"
#include "staging/waiting.hpp"

namespace dovetail::staging {
namespace {

const Bytes left(1000, std::byte{7});

/// Its drain stops after the first piece until it may go on.
class StoppedCalls : public FileCalls {
 public:
  void reached(CrashPoint point) noexcept override {
    if (point == CrashPoint::piece_written) {
      stopped_.set_value();
      let_go_.get_future().wait();
    }
  }
  void wait_until_it_has_stopped() { stopped_.get_future().wait(); }
  void go_on() { let_go_.set_value(); }

 private:
  std::promise<void> stopped_;
  std::promise<void> let_go_;
};

class RecoveryLockTest : public TierTest {
 protected:
  void SetUp() override {
    TierTest::SetUp();
    put(final_path, {});
    put(other_path, {});
    slow.calls = &stopped;
  }
  void leave(const std::string& of_writer_folder, bool shared) const {
    TierSettings of_writer;
    of_writer.shared = shared;
    const TieredFile::Opened opened = TieredFile::open(of_writer_folder, final_path, of_writer);
    ASSERT_EQ(opened.failure.text(), "");
    ASSERT_EQ(opened.file->write(0, left).text(), "");
  }
  void use_another_file() const {
    const SharedTieredFile::Opened other = SharedTieredFile::open(tier, other_path);
    ASSERT_EQ(other.failure.text(), "");
    ASSERT_EQ(other.file->file().write(0, left).text(), "");
    ASSERT_EQ(other.file->close().text(), "");
    EXPECT_TRUE(same(bytes_of(other_path), left));
  }

  const std::string other_path = final_path + ".other";
  StoppedCalls stopped;
  TierSettings slow;
};

TEST_F(RecoveryLockTest, OpeningOfAnotherFileGoesOn) {
  leave(writer_folder(log, 0), true);
  SharedTieredFile::Opened opened;
  std::jthread opening([&] { opened = SharedTieredFile::open(tier, final_path, slow); });
  stopped.wait_until_it_has_stopped();
  use_another_file();
  EXPECT_TRUE(std::filesystem::exists(writer_folder(log, 0)));
  // A second opening of the first file is one of the same.
  SharedTieredFile::Opened second;
  std::jthread other_opening([&] { second = SharedTieredFile::open(tier, final_path); });
  stopped.go_on();
  opening.join();
  other_opening.join();
  ASSERT_EQ(opened.failure.text() + second.failure.text(), "");
  EXPECT_EQ(opened.file, second.file);
  EXPECT_FALSE(std::filesystem::exists(writer_folder(log, 0)));
  EXPECT_TRUE(same(bytes_of(final_path), left));
  EXPECT_EQ(opened.file->close().text() + second.file->close().text(), "");
}

// Whether it is a rank's, or that of a process that writes alone.
TEST_F(RecoveryLockTest, OpeningOfTheSameFileWaits) {
  for (const std::string& each : {writer_folder(log, 0), log}) {
    SCOPED_TRACE(each);
    StoppedCalls own;
    slow.calls = &own;
    put(final_path, {});
    leave(each, each != log);
    TakenWriters taken;
    {
      const TierLock lock = lock_tier(tier);
      ASSERT_EQ(lock.failure.text(), "");
      taken = take_writers(log, true);
    }
    ASSERT_EQ(taken.dead.size(), 1U);
    WriterRecovery recovery;
    std::jthread recovering([&] { recovery = recover_taken(std::move(taken), slow); });
    own.wait_until_it_has_stopped();
    {
      const TierLock lock = lock_tier(tier);
      EXPECT_EQ(take_writers(log, true).closing, std::vector{each});
    }
    SharedTieredFile::Opened opened;
    std::jthread opening([&] { opened = SharedTieredFile::open(tier, final_path); });
    while (!test::is_waited_for(each)) {
      std::this_thread::yield();
    }
    use_another_file();
    own.go_on();
    opening.join();
    recovering.join();
    EXPECT_EQ(recovery.failure.text() + opened.failure.text(), "");
    EXPECT_EQ(recovery.recovered, std::vector{each});
    EXPECT_EQ(opened.file->file().size(), left.size());
    EXPECT_EQ(opened.file->close().text(), "");
    EXPECT_TRUE(same(bytes_of(final_path), left));
  }
}

}  // namespace
}  // namespace dovetail::staging
