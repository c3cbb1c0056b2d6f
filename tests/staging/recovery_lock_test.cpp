// A recovery holds the lock of its log alone: what other openings wait for while one goes on.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

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

/// It stops when the mark of a folder is removed and the folder is not.
class RemovingCalls : public FileCalls {
 public:
  int remove(int folder, const char* name) noexcept override {
    const int result = FileCalls::remove(folder, name);
    if (std::string_view(name) == closed_name && result == 0) {
      gone_.set_value();
      let_go_.get_future().wait();
    }
    return result;
  }
  void wait_until_the_mark_is_gone() { gone_.get_future().wait(); }
  void go_on() { let_go_.set_value(); }

 private:
  std::promise<void> gone_;
  std::promise<void> let_go_;
};

/// Processes that wait for ever, and are killed with this object.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const pid_t child : all_) {
      EXPECT_EQ(::kill(child, SIGKILL), 0);
      EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    }
  }
  /// `first`: what the child does before it waits.
  template <class First>
  void fork(const First& first) {
    const pid_t child = ::fork();
    if (child == 0) {
      first();
      for (;;) {
        ::pause();
      }
    }
    all_.push_back(child);
  }

 private:
  std::vector<pid_t> all_;
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
    leave(of_writer_folder, of_writer, left);
  }
  void leave(const std::string& folder_of_writer, TierSettings& of_writer, const Bytes& bytes) const {
    const TieredFile::Opened opened = TieredFile::open(folder_of_writer, final_path, of_writer);
    ASSERT_EQ(opened.failure.text(), "");
    ASSERT_EQ(opened.file->write(0, bytes).text(), "");
    of_writer.generation = opened.file->generation();
  }
  TakenWriters take() const {
    const TierLock lock = lock_tier(tier);
    EXPECT_EQ(lock.failure.text(), "");
    return take_writers(log, true);
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
    TakenWriters taken = take();
    ASSERT_EQ(taken.dead.size(), 1U);
    WriterRecovery recovery;
    std::jthread recovering([&] { recovery = recover_taken(std::move(taken), slow); });
    own.wait_until_it_has_stopped();
    EXPECT_EQ(take().closing, std::vector{each});
    SharedTieredFile::Opened opened;
    std::atomic<bool> has_ended = false;
    std::jthread opening([&] {
      opened = SharedTieredFile::open(tier, final_path);
      has_ended = true;
    });
    while (!test::is_waited_for(each) && !has_ended) {
      std::this_thread::yield();
    }
    use_another_file();
    own.go_on();
    opening.join();
    recovering.join();
    ASSERT_EQ(recovery.failure.text() + opened.failure.text(), "");
    EXPECT_EQ(recovery.recovered, std::vector{each});
    EXPECT_EQ(opened.file->file().size(), left.size());
    EXPECT_EQ(opened.file->close().text(), "");
    EXPECT_TRUE(same(bytes_of(final_path), left));
  }
}

TEST_F(RecoveryLockTest, EmptyFolderBesideOneIsWaitedForToo) {
  leave(writer_folder(log, 0), true);
  ASSERT_EQ(::mkdir(writer_folder(log, 1).c_str(), 0700), 0);
  TakenWriters taken = take();
  ASSERT_EQ(taken.dead.size(), 2U);
  WriterRecovery recovery;
  std::jthread recovering([&] { recovery = recover_taken(std::move(taken), slow); });
  stopped.wait_until_it_has_stopped();
  const TakenWriters meanwhile = take();
  stopped.go_on();
  recovering.join();
  EXPECT_EQ(meanwhile.closing, (std::vector{writer_folder(log, 0), writer_folder(log, 1)}));
  EXPECT_EQ(meanwhile.others.busy, std::vector<std::string>());
  EXPECT_EQ(recovery.failure.text(), "");
  EXPECT_FALSE(std::filesystem::exists(writer_folder(log, 1)));
}

// It would be waited for as long as this process has the file open.
TEST_F(RecoveryLockTest, MarkOfAnEndedProcessGoesBeforeOthersSeeTheFolderTaken) {
  {
    const TieredFile::Opened closed = TieredFile::open(log, final_path);
    ASSERT_EQ(closed.failure.text(), "");
    ASSERT_EQ(closed.file->note_closed().text(), "");
  }
  leave(writer_folder(log, 0), true);
  SharedTieredFile::Opened opened;
  std::jthread opening([&] { opened = SharedTieredFile::open(tier, final_path, slow); });
  stopped.wait_until_it_has_stopped();
  const TakenWriters meanwhile = take();
  stopped.go_on();
  opening.join();
  EXPECT_EQ(meanwhile.closing, std::vector{writer_folder(log, 0)});
  EXPECT_EQ(meanwhile.others.busy, std::vector{log});
  ASSERT_EQ(opened.failure.text(), "");
  EXPECT_EQ(opened.file->close().text(), "");
}

// Brought into the file first, it would be lost below the earlier one.
TEST_F(RecoveryLockTest, LaterLogWaitsForTheRecoveryOfAnEarlierOne) {
  TierSettings of_writers;
  of_writers.shared = true;
  const Bytes newer(1000, std::byte{8});
  const std::vector logs = {writer_folder(log, 0), writer_folder(log, 1)};
  leave(logs[0], of_writers, left);
  leave(logs[1], of_writers, newer);
  OpenedFolder first = take_to_recover(logs[0], FileCalls::system());
  OpenedFolder second = take_to_recover(logs[1], FileCalls::system());
  ASSERT_EQ(first.failure.text() + second.failure.text(), "");
  WriterRecovery recovery;
  std::atomic<bool> has_ended = false;
  std::jthread recovering([&] {
    const TierLock lock = lock_tier(tier);
    recovery = recover_writers(log);
    has_ended = true;
  });
  const auto wait_for_its_wait = [&](const std::string& taken) {
    while (!test::is_waited_for(taken) && !has_ended) {
      std::this_thread::yield();
    }
  };
  // The process that has the first is killed; another one takes it.
  wait_for_its_wait(logs[0]);
  first = {};
  wait_for_its_wait(logs[1]);
  first = take_to_recover(logs[0], FileCalls::system());
  ASSERT_EQ(first.failure.text(), "");
  second = {};
  wait_for_its_wait(logs[0]);
  EXPECT_TRUE(std::filesystem::exists(logs[1]));
  EXPECT_TRUE(bytes_of(final_path).empty());
  EXPECT_EQ(recover(std::move(first), {}).failure.text(), "");
  recovering.join();
  EXPECT_EQ(recovery.failure.text(), "");
  EXPECT_EQ(recovery.recovered, std::vector{logs[1]});
  EXPECT_EQ(recovery.busy, std::vector<std::string>());
  EXPECT_TRUE(same(bytes_of(final_path), newer));
}

// Who waits for the end of a process has its folder for an instant.
TEST_F(RecoveryLockTest, WhoeverWaitsIsNotTakenForALivingWriter) {
  leave(log, false);
  LockedDescriptor waiting(::open(log.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(lock_file(waiting.get(), LOCK_SH), 0);
  SharedTieredFile::Opened opened;
  std::atomic<bool> has_ended = false;
  std::jthread opening([&] {
    opened = SharedTieredFile::open(tier, final_path);
    has_ended = true;
  });
  while (!test::is_waited_for(log) && !has_ended) {
    std::this_thread::yield();
  }
  waiting = LockedDescriptor();
  opening.join();
  ASSERT_EQ(opened.failure.text(), "");
  EXPECT_EQ(opened.file->close().text(), "");
}

// Another thread of the program makes one at any time. Who waits for the folder goes on nevertheless.
TEST_F(RecoveryLockTest, ChildOfAForkDoesNotKeepTheLockOfALog) {
  const std::string folder_of_rank = writer_folder(log, 0);
  WatchedCalls failing;
  failing.before = [](const WatchedCalls::Asked& asked) {
    return WatchedCalls::Fault{.error = asked.kind == WatchedCalls::Kind::write && !asked.is_log() ? EIO : 0};
  };
  TierSettings with_failure;
  with_failure.calls = &failing;
  const auto is_free = [](const LockedDescriptor& waiting) {
    return lock_file(waiting.get(), LOCK_SH | LOCK_NB) == 0 && lock_file(waiting.get(), LOCK_UN) == 0;
  };
  leave(folder_of_rank, true);
  const LockedDescriptor waiting(::open(folder_of_rank.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  TakenWriters taken = take();
  ASSERT_EQ(taken.dead.size(), 1U);
  Children children;
  const auto fork_one = [&] {
    children.fork([&] { taken = {}; });  // does not end the lock of its parent
  };
  fork_one();
  EXPECT_FALSE(is_free(waiting));
  taken = {};
  EXPECT_TRUE(is_free(waiting)) << "after it was given back";
  taken = take();
  fork_one();
  EXPECT_EQ(recover_taken(std::move(taken), with_failure).failure.error, EIO);
  EXPECT_TRUE(is_free(waiting)) << "after a recovery that has failed";
  taken = take();
  ASSERT_EQ(taken.dead.size(), 1U);
  fork_one();
  EXPECT_EQ(recover_taken(std::move(taken)).recovered, std::vector{folder_of_rank});
  EXPECT_TRUE(is_free(waiting)) << "after a recovery";
}

// The folder was there when the opening made its name durable, and has gone before it is opened.
TEST_F(RecoveryLockTest, RecoveryEndsBetweenTwoCallsOfAnOpening) {
  leave(log, false);
  TakenWriters taken = take();
  ASSERT_EQ(taken.dead.size(), 1U);
  WriterRecovery recovery;
  calls.before = [&](const WatchedCalls::Asked& asked) {
    if (asked.kind == WatchedCalls::Kind::sync && asked.path() == tier_of_log(log) && !taken.dead.empty()) {
      recovery = recover_taken(std::exchange(taken, {}));
    }
    return WatchedCalls::Fault{};
  };
  const SharedTieredFile::Opened opened = SharedTieredFile::open(tier, final_path, settings);
  EXPECT_EQ(recovery.recovered, std::vector{log});
  ASSERT_EQ(opened.failure.text(), "");
  EXPECT_EQ(opened.file->file().size(), left.size());
  EXPECT_EQ(opened.file->close().text(), "");
}

// The mark is gone by then, and the folder is not.
TEST_F(RecoveryLockTest, FolderThatIsBeingRemovedIsNotTakenForThatOfAWriter) {
  for (const std::string& each : {writer_folder(log, 0), log}) {
    SCOPED_TRACE(each);
    RemovingCalls removing;
    slow.calls = &removing;
    leave(each, each != log);
    TakenWriters taken = take();
    ASSERT_EQ(taken.dead.size(), 1U);
    WriterRecovery recovery;
    std::jthread recovering([&] { recovery = recover_taken(std::move(taken), slow); });
    removing.wait_until_the_mark_is_gone();
    SharedTieredFile::Opened opened;
    std::atomic<bool> has_ended = false;
    std::jthread opening([&] {
      opened = SharedTieredFile::open(tier, final_path);
      has_ended = true;
    });
    const std::string marks = tier + "/.dovetail-" + std::to_string(::geteuid()) + ".marks.lock";
    while (!test::is_waited_for(marks) && !has_ended) {
      std::this_thread::yield();
    }
    removing.go_on();
    opening.join();
    recovering.join();
    ASSERT_EQ(recovery.failure.text() + opened.failure.text(), "");
    EXPECT_EQ(opened.file->close().text(), "");
  }
}

TEST_F(RecoveryLockTest, FolderThatIsKeptIsWaitedForUntilItIsLetGo) {
  TieredFile::Opened closed = TieredFile::open(log, final_path);
  ASSERT_EQ(closed.failure.text(), "");
  ASSERT_EQ(closed.file->write(0, left).text(), "");
  ASSERT_EQ(closed.file->note_closed().text(), "");
  ASSERT_EQ(closed.file->finish(true).text(), "");
  EXPECT_EQ(take().closing, std::vector{log});
  closed.file.reset();
  EXPECT_EQ(recover_taken(take()).failure.text(), "");
  EXPECT_FALSE(std::filesystem::exists(log));
}

// Others would take it for a living writer, and leave its log out.
TEST_F(RecoveryLockTest, NothingIsRecoveredWithoutAMark) {
  leave(writer_folder(log, 0), true);
  int forbidden = 1;
  calls.before = [&](const WatchedCalls::Asked& asked) {
    const bool is_mark = asked.kind == WatchedCalls::Kind::open && asked.path() == writer_folder(log, 0);
    return WatchedCalls::Fault{.error = is_mark && forbidden-- > 0 ? ENOSPC : 0};
  };
  const auto take = [&] {
    const TierLock lock = lock_tier(tier);
    return take_writers(log, true, calls);
  };
  ASSERT_TRUE(std::filesystem::exists(writer_folder(log, 0) + "/" + reserve_name));
  EXPECT_EQ(take().dead.size(), 1U) << "the reserve gives the space for it";
  std::filesystem::remove(writer_folder(log, 0) + "/" + closed_name);
  forbidden = 2;
  const TakenWriters taken = take();
  EXPECT_EQ(taken.others.failure.error, ENOSPC);
  EXPECT_EQ(taken.dead.size(), 0U);
  EXPECT_EQ(this->take().dead.size(), 1U) << "it has been let go";
  EXPECT_TRUE(bytes_of(final_path).empty());
}

// It may be newer than what the others have.
TEST_F(RecoveryLockTest, OpeningThatIsRefusedRecoversNothing) {
  TierSettings of_writers;
  of_writers.shared = true;
  leave(writer_folder(log, 1), of_writers, left);
  leave(writer_folder(log, 2), of_writers, left);
  const TieredFile::Opened living = TieredFile::open(writer_folder(log, 0), final_path, of_writers);
  ASSERT_EQ(living.failure.text(), "");
  const OpenedFolder recovered = take_to_recover(writer_folder(log, 1), FileCalls::system());
  ASSERT_EQ(recovered.failure.text(), "");
  EXPECT_EQ(SharedTieredFile::open(tier, final_path).failure.error, EBUSY);
  EXPECT_TRUE(std::filesystem::exists(writer_folder(log, 2)));
  EXPECT_TRUE(bytes_of(final_path).empty());
}

TEST_F(RecoveryLockTest, OpeningThatFailsLeavesNoFolder) {
  leave(writer_folder(log, 0), true);
  calls.before = [](const WatchedCalls::Asked& asked) {
    return WatchedCalls::Fault{.error = asked.kind == WatchedCalls::Kind::write && !asked.is_log() ? EIO : 0};
  };
  EXPECT_EQ(SharedTieredFile::open(tier, final_path, settings).failure.error, EIO);
  calls.before = [](const WatchedCalls::Asked&) { return WatchedCalls::Fault{}; };
  EXPECT_FALSE(std::filesystem::exists(log));
  EXPECT_TRUE(std::filesystem::exists(writer_folder(log, 0)));
}

TEST_F(RecoveryLockTest, LastShareOfAClosedFileGoesWhileItIsOpenedAgain) {
  SharedTieredFile::Opened first = SharedTieredFile::open(tier, final_path);
  ASSERT_EQ(first.failure.text(), "");
  ASSERT_EQ(first.file->file().write(0, left).text(), "");
  ASSERT_EQ(first.file->close().text(), "");
  calls.at = [&](CrashPoint point) {
    if (point == CrashPoint::folder_made) {
      first.file.reset();
    }
  };
  const SharedTieredFile::Opened second = SharedTieredFile::open(tier, final_path, settings);
  calls.at = [](CrashPoint) {};
  EXPECT_EQ(first.file, nullptr);
  ASSERT_EQ(second.failure.text(), "");
  EXPECT_EQ(second.file->file().size(), left.size());
  EXPECT_EQ(second.file->close().text(), "");
}

}  // namespace
}  // namespace dovetail::staging
