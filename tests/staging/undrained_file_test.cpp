// Reading what ended processes have left, while others drain it.
#include <fcntl.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "staging/left_logs.hpp"
#include "staging/log_generation.hpp"
#include "staging/tier_folders.hpp"
#include "staging/tier_support.hpp"
#include "staging/undrained_file.hpp"

namespace dovetail::staging {
namespace {

class UndrainedFileTest : public TierTest {
 protected:
  UndrainedFileTest() { put(final_path, Bytes(50'000, std::byte{9})); }

  std::unique_ptr<TieredFile> open_writer(unsigned number, std::uint64_t job = 1) {
    settings.shared = true;
    settings.generation = take_generation(final_path, tier, job).generation;
    TieredFile::Opened opened = TieredFile::open(writer_folder(log, number), final_path, settings);
    EXPECT_EQ(opened.failure.text(), "");
    return std::move(opened.file);
  }
  // Of several segments each, and over each other.
  void leave() {
    for (unsigned number = 0; number < 3; ++number) {
      const auto file = open_writer(number);
      for (std::uint64_t i = 0; i < 20; ++i) {
        const Bytes data(3000, static_cast<std::byte>(1 + number * 20 + i));
        ASSERT_EQ(file->write((i * 7 + number * 3) % 23 * 2500, data).text(), "");
      }
    }
  }
  std::vector<LeftLog> logs() const {
    FileFailure failure;
    std::vector<LeftLog> found = find_left_logs(log, failure);
    EXPECT_EQ(failure.text(), "");
    return found;
  }
  std::unique_ptr<UndrainedFile> open_undrained() const {
    const std::vector<LeftLog> left = logs();
    const LeftContents contents = read_left_logs(left, final_path);
    EXPECT_EQ(contents.failure.text(), "");
    UndrainedFile::Opened opened =
        UndrainedFile::open(left, std::span(&contents.index, 1), final_path, *settings.calls);
    EXPECT_EQ(opened.failure.text(), "");
    return std::move(opened.file);
  }
  static Bytes all_of(const UndrainedFile& file) {
    Bytes target(100'000);
    const FileRead got = file.read(0, target);
    EXPECT_EQ(got.failure.text(), "");
    target.resize(got.bytes);
    return target;
  }
  void recover_all() const {
    const WriterRecovery recovery = recover_writers(log);
    EXPECT_EQ(recovery.failure.text(), "");
    EXPECT_EQ(recovery.recovered.size(), 3U);
  }
};

TEST_F(UndrainedFileTest, ReadsWhatARecoveryBringsBeforeAndAfterIt) {
  leave();
  const auto file = open_undrained();
  ASSERT_NE(file, nullptr);
  const Bytes before = all_of(*file);
  EXPECT_TRUE(same(bytes_of(final_path), Bytes(50'000, std::byte{9}))) << "something was drained";
  recover_all();
  EXPECT_TRUE(same(before, bytes_of(final_path)));
  // The segments have no names any more.
  EXPECT_TRUE(same(all_of(*file), before));
  file->forget_drained();
  EXPECT_EQ(file->staged_end(), 0U);
  const Bytes newer(60'000, std::byte{8});
  put(final_path, newer);
  EXPECT_TRUE(same(all_of(*file), newer));
}

TEST_F(UndrainedFileTest, LogThatIsDrainedAloneIsReadFromTheFinalFile) {
  leave();
  const auto file = open_undrained();
  ASSERT_NE(file, nullptr);
  const Bytes before = all_of(*file);
  for (const LeftLog& each : logs()) {
    EXPECT_NE(file->staged_end(), 0U);
    EXPECT_EQ(recover(each.folder, settings).failure.text(), "");
    file->forget_drained();
    EXPECT_TRUE(same(all_of(*file), before));
  }
  EXPECT_EQ(file->staged_end(), 0U);
}

TEST_F(UndrainedFileTest, ThreadsReadWhileOthersRecover) {
  leave();
  const auto file = open_undrained();
  ASSERT_NE(file, nullptr);
  const Bytes before = all_of(*file);
  std::atomic<bool> ends = false;
  std::atomic<int> different = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      bool is_last = false;
      while (!is_last) {
        is_last = ends;
        file->forget_drained();
        different += all_of(*file) == before ? 0 : 1;
      }
    });
  }
  recover_all();
  ends = true;
  for (std::thread& each : readers) {
    each.join();
  }
  EXPECT_EQ(different, 0);
  EXPECT_EQ(file->staged_end(), 0U);
}

TEST_F(UndrainedFileTest, LogThatWasDrainedMeanwhileIsNotOpened) {
  leave();
  const std::vector<LeftLog> left = logs();
  const LeftContents contents = read_left_logs(left, final_path);
  recover_all();
  EXPECT_EQ(UndrainedFile::open(left, std::span(&contents.index, 1), final_path).failure.error,
            EBADF);  // of a folder that is gone
}

TEST_F(UndrainedFileTest, NoFolderIsMadeForLogsThatWereDrainedMeanwhile) {
  leave();
  const std::vector<LeftLog> left = logs();
  recover_all();
  const LeftContents contents = read_left_logs(left, final_path);
  EXPECT_EQ(contents.failure.text(), "");
  EXPECT_TRUE(contents.index.extents.empty());
  EXPECT_TRUE(logs().empty());
}

TEST_F(UndrainedFileTest, HalfOfTheDescriptorsAreLeftToTheProgram) {
  settings.segment_bytes = 3000;
  leave();
  const std::vector<LeftLog> left = logs();
  const LeftContents contents = read_left_logs(left, final_path);
  const std::size_t segments = contents.index.segments.size();
  ASSERT_GT(segments, 10U);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit fewer = before;
  fewer.rlim_cur = 2 * segments;  // more than it takes, beside the few of a test
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &fewer), 0);
  const UndrainedFile::Opened refused = UndrainedFile::open(left, std::span(&contents.index, 1), final_path);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused.failure.error, EMFILE);
  EXPECT_EQ(UndrainedFile::open(left, std::span(&contents.index, 1), final_path).failure.text(), "");
}

TEST_F(UndrainedFileTest, LogOfALivingProcessIsNotRead) {
  leave();
  const auto alive = open_writer(3);
  EXPECT_EQ(read_left_logs(logs(), final_path).failure.error, EBUSY);
}

TEST_F(UndrainedFileTest, LogThatSetsASizeIsNotRead) {
  open()->set_size(5);
  EXPECT_EQ(read_left_logs(logs(), final_path).failure.error, ENOTSUP);
}

TEST_F(UndrainedFileTest, LogThatHasLostWhatWasDurableIsNotRead) {
  {
    const auto file = open_writer(0);
    ASSERT_EQ(file->write(0, Bytes(100, std::byte{1})).text(), "");
    ASSERT_EQ(file->sync().text(), "");
  }
  const std::string segment = writer_folder(log, 0) + "/00000001.log";
  Bytes bytes = bytes_of(segment);
  bytes[200] ^= std::byte{1};
  put(segment, bytes);
  EXPECT_EQ(read_left_logs(logs(), final_path).failure.error, EBADMSG);
}

TEST_F(UndrainedFileTest, SupersededLogIsForgotten) {
  leave();
  const auto file = open_undrained();
  ASSERT_NE(file, nullptr);
  const TakenGeneration taken = take_generation(final_path, tier, 2);
  if (taken.generation.is_none()) {
    GTEST_SKIP() << "temporary files have no attributes of users here";
  }
  file->forget_drained();
  EXPECT_NE(file->staged_end(), 0U);
  file->forget_superseded();
  EXPECT_EQ(file->staged_end(), 0U);
  EXPECT_TRUE(same(all_of(*file), Bytes(50'000, std::byte{9})));
  const LeftContents contents = read_left_logs(logs(), final_path);
  EXPECT_EQ(contents.failure.text(), "");
  EXPECT_EQ(contents.superseded.size(), 3U);
  EXPECT_TRUE(contents.index.extents.empty());
}

TEST_F(UndrainedFileTest, FolderThatHasAnotherLogByNowIsNotTaken) {
  leave();
  const auto file = open_undrained();
  ASSERT_NE(file, nullptr);
  recover_all();
  ASSERT_EQ(open_writer(1)->write(0, Bytes(3000, std::byte{5})).text(), "");
  EXPECT_TRUE(file->take_to_drain().dead.empty());
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(writer_folder(log, 1)) / closed_name))
      << "a log that another process has left counts as one that this one recovers";
}

TEST_F(UndrainedFileTest, OthersWaitForTheOneThatDrains) {
  leave();
  const auto file = open_undrained();
  ASSERT_NE(file, nullptr);
  const Bytes before = all_of(*file);
  calls.before = [&](const WatchedCalls::Asked& asked) {
    EXPECT_NE(asked.kind, WatchedCalls::Kind::read) << asked.path() << ", while others wait for the lock of the tier";
    return WatchedCalls::Fault{};
  };
  TakenWriters taken = file->take_to_drain();
  calls.before = [](const WatchedCalls::Asked&) { return WatchedCalls::Fault{}; };
  ASSERT_EQ(taken.dead.size(), 3U);
  EXPECT_TRUE(file->take_to_drain().dead.empty());
  for (const LeftLog& each : logs()) {
    EXPECT_EQ(recover(each.folder, settings).failure.error, EBUSY);
    EXPECT_EQ(holder_of(each.folder), Holder::drains);
  }
  EXPECT_EQ(recover_taken(std::move(taken), settings).failure.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), before));
  EXPECT_TRUE(logs().empty());
}

// The first write into the final file fails, and no other.
class OneFailure : public UndrainedFileTest {
 protected:
  void fail_once() {
    calls.before = [this](const WatchedCalls::Asked& asked) {
      const bool fails = !has_failed && asked.kind == WatchedCalls::Kind::write &&
                         asked.path() == std::filesystem::absolute(final_path);
      has_failed = has_failed || fails;
      return WatchedCalls::Fault{.error = fails ? EIO : 0};
    };
  }
  std::atomic<bool> has_failed = false;
};

TEST_F(OneFailure, NoLogIsDrainedBehindOneThatFails) {
  leave();
  const Bytes before = all_of(*open_undrained());
  fail_once();
  EXPECT_EQ(recover_taken(open_undrained()->take_to_drain(), settings).failure.error, EIO);
  EXPECT_TRUE(has_failed);
  EXPECT_EQ(logs().size(), 3U);
  recover_all();
  EXPECT_TRUE(same(bytes_of(final_path), before));
}

TEST_F(OneFailure, NoLogIsRecoveredBehindOneThatFails) {
  leave();
  const Bytes before = all_of(*open_undrained());
  fail_once();
  EXPECT_EQ(recover_writers(log, settings).failure.error, EIO);
  EXPECT_TRUE(has_failed);
  EXPECT_EQ(logs().size(), 3U);
  recover_all();
  EXPECT_TRUE(same(bytes_of(final_path), before));
}

TEST_F(UndrainedFileTest, JobOfWhichAProcessLivesHasNotEnded) {
  leave();
  const auto alive = open_writer(1000);
  const std::vector<LeftLog> left = logs();
  if (left.back().generation.is_none()) {
    GTEST_SKIP() << "temporary files have no attributes of users here";
  }
  const FileFailure failure = objection_to_half_ended(left, final_path, 2);
  EXPECT_EQ(failure.error, EBUSY);
  EXPECT_NE(failure.text().find(writer_folder(log, 1000)), std::string::npos) << failure.text();
  EXPECT_EQ(objection_to_half_ended(left, final_path, 1).text(), "") << "it is this job";
  EXPECT_EQ(alive->note_closed(false).text(), "");
  EXPECT_EQ(objection_to_half_ended(left, final_path, 2).text(), "") << "it is about to let its log go";
  std::filesystem::remove(writer_folder(log, 1000) + "/" + closed_name);
  EXPECT_EQ(objection_to_half_ended(left, final_path, 2).error, EBUSY);
  std::filesystem::remove(writer_folder(log, 1000) + "/" + placement_name);
  EXPECT_EQ(objection_to_half_ended(left, final_path, 2).text(), "") << "it has just drained its log";
  take_generation(final_path, tier, 2);
  EXPECT_EQ(objection_to_half_ended(left, final_path, 3).text(), "") << "what it has is superseded";
}

TEST_F(UndrainedFileTest, JobOfWhichAllProcessesLiveIsNoHindrance) {
  const auto first = open_writer(0);
  const auto second = open_writer(1);
  EXPECT_EQ(objection_to_half_ended(logs(), final_path, 2).text(), "");
}

}  // namespace
}  // namespace dovetail::staging
