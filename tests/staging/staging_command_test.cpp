// The command `dovetail-staging`, as a user starts it.
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "staging/inspection.hpp"
#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"
#include "staging/tier_lock.hpp"
#include "staging/tier_support.hpp"
#include "staging/waiting.hpp"
#include "staging/writer_folders.hpp"
#include "storage/fault_folder.hpp"

namespace dovetail::staging {
namespace {

using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

class StagingCommandTest : public TierTest {
 protected:
  void SetUp() override {
    const char* build = std::getenv("DOVETAIL_BUILD_DIR");
    program = std::filesystem::absolute(build != nullptr ? build : ".") / "bin/dovetail-staging";
    if (::access(program.c_str(), X_OK) != 0) {
      GTEST_SKIP() << "the tools are not built here";
    }
  }
  /// Its exit status; what it says is in `said`.
  int run(const std::vector<std::string>& words, const std::string& in = "/") { return end_of(start(words, in)); }
  pid_t start(std::vector<std::string> words, const std::string& in = "/") const {
    words.insert(words.begin(), program);
    std::vector<char*> arguments;
    for (std::string& each : words) {
      arguments.push_back(each.data());
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, in.c_str());
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child = -1;
    EXPECT_EQ(posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
  }
  int end_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    said = test::contents(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// A killed rank has left those bytes at the begin of the file. Those of one job, if each has the generation of the one before.
  void leave(unsigned writer, const Bytes& data) {
    settings.shared = true;
    const TieredFile::Opened opened = TieredFile::open(writer_folder(log, writer), final_path, settings);
    ASSERT_EQ(opened.failure.text(), "");
    ASSERT_EQ(opened.file->write(0, data).text(), "");
    settings.generation = opened.file->generation();
  }
  std::string program;
  std::string said;
  const std::string output = folder / "output";
};

TEST_F(StagingCommandTest, ShowsChecksAndRecovers) {
  const Bytes data = test::random_bytes(10'000, 1);
  auto file = open();
  ASSERT_EQ(file->write(100, data).text(), "");
  ASSERT_EQ(file->write(500, std::span(data).first(50)).text(), "");
  ASSERT_EQ(file->sync().text(), "");
  ASSERT_EQ(run({"status", "--json", log}), 0) << said;
  ASSERT_EQ(nlohmann::json::parse(said).size(), 1U);
  const nlohmann::json shown = nlohmann::json::parse(said)[0];
  EXPECT_EQ(shown.at("final_path"), final_path);
  EXPECT_EQ(shown.at("staged_bytes"), 10'000);
  EXPECT_EQ(shown.at("records"), 2);
  EXPECT_EQ(shown.at("extents"), 3);
  EXPECT_EQ(shown.at("log_bytes"), file->log_bytes());
  ASSERT_EQ(run({"status", log}), 0);
  EXPECT_NE(said.find(final_path), std::string::npos) << said;
  EXPECT_EQ(run({"verify", log}), 0) << said;
  EXPECT_EQ(run({"recover", log}), 1) << "this process has it";
  EXPECT_NE(said.find("another process has it"), std::string::npos) << said;
  const Bytes expected = all_of(*file);
  file.reset();
  EXPECT_EQ(run({"recover", log}), 0) << said;
  EXPECT_EQ(said, "");
  EXPECT_TRUE(same(bytes_of(final_path), expected));
  EXPECT_EQ(run({"recover", log}), 1) << "there is no such folder any more";
}

TEST_F(StagingCommandTest, ATierIsAllOfItsFiles) {
  EXPECT_EQ(run({"status", tier}), 0);
  EXPECT_EQ(said, "");
  const std::string other = final_path + ".other";
  put(other, {});
  const Bytes data = test::random_bytes(100, 1);
  ASSERT_EQ(open()->write(0, data).text(), "");
  ASSERT_EQ(TieredFile::open(folder_of(tier, other).folder, other, settings).file->write(0, data).text(), "");
  ASSERT_EQ(run({"status", "--json", tier}), 0) << said;
  EXPECT_EQ(nlohmann::json::parse(said).size(), 2U);
  EXPECT_EQ(run({"verify", tier}), 0) << said;
  EXPECT_EQ(run({"wait", tier}), 1) << "nobody drains them";
  EXPECT_NE(said.find("use 'recover'"), std::string::npos) << said;
  EXPECT_EQ(run({"recover", tier}), 0) << said;
  EXPECT_TRUE(same(bytes_of(final_path), data));
  EXPECT_TRUE(same(bytes_of(other), data));
  EXPECT_EQ(run({"status", tier}), 0);
  EXPECT_EQ(said, "");
}

// What is behind may be newer.
TEST_F(StagingCommandTest, LogsOfAFileAreRecoveredByNumberAndNotBehindAFailure) {
  constexpr std::uint64_t job = 7;
  settings.shared = true;
  settings.generation = take_generation(final_path, tier, job).generation;
  const auto stage = [&](unsigned writer, std::byte value) {
    const TieredFile::Opened opened = TieredFile::open(writer_folder(log, writer), final_path, settings);
    ASSERT_EQ(opened.failure.text(), "");
    ASSERT_EQ(opened.file->write(0, Bytes(10, value)).text(), "");
  };
  stage(2, std::byte{1});
  stage(10, std::byte{2});
  FileFailure failure;
  EXPECT_EQ(logs_in(tier, failure), (std::vector{writer_folder(log, 2), writer_folder(log, 10)}));
  const std::string placement = writer_folder(log, 2) + "/" + placement_name;
  std::filesystem::rename(placement, folder / "placement");
  EXPECT_EQ(run({"recover", tier}), 1);
  EXPECT_NE(said.find(writer_folder(log, 10) + " stays as it is"), std::string::npos) << said;
  EXPECT_EQ(std::filesystem::file_size(final_path), 0U);
  std::filesystem::rename(folder / "placement", placement);
  EXPECT_EQ(run({"recover", tier}), 0) << said;
  EXPECT_TRUE(same(bytes_of(final_path), Bytes(10, std::byte{2})));
}

TEST_F(StagingCommandTest, LogsBeforeTheOneThatIsNamedAreRecoveredFirst) {
  leave(2, Bytes(10, std::byte{1}));
  leave(10, Bytes(5, std::byte{2}));
  Bytes expected(10, std::byte{1});
  std::fill_n(expected.begin(), 5, std::byte{2});
  EXPECT_EQ(run({"recover", writer_folder(log, 10)}), 0) << said;
  EXPECT_TRUE(same(bytes_of(final_path), expected));
  EXPECT_FALSE(std::filesystem::exists(writer_folder(log, 2)));
}

TEST_F(StagingCommandTest, LogsBehindOneOfAnotherProcessAreLeftToIt) {
  leave(0, Bytes(10, std::byte{1}));
  leave(1, Bytes(10, std::byte{2}));
  const OpenedFolder taken = take_to_recover(writer_folder(log, 0), FileCalls::system());
  EXPECT_EQ(run({"recover", tier}), 1);
  EXPECT_NE(said.find(writer_folder(log, 1) + " is left to the process that has an earlier log"), std::string::npos)
      << said;
}

// A shell adds the slash where it completes a name.
TEST_F(StagingCommandTest, AFolderMayBeNamedFromWithinTheTierAndWithASlash) {
  const std::string of_rank = writer_folder(log, 0);
  const std::string name = std::filesystem::path(of_rank).filename();
  for (const std::string& named : {name, name + "/", "./" + name, of_rank + "/", of_rank + "//"}) {
    SCOPED_TRACE(named);
    leave(0, Bytes(10, std::byte{1}));
    EXPECT_EQ(run({"discard", "--force", named}, tier), 0) << said;
    EXPECT_FALSE(std::filesystem::exists(of_rank));
    leave(0, Bytes(10, std::byte{2}));
    EXPECT_EQ(run({"recover", named}, tier), 0) << said;
    EXPECT_FALSE(std::filesystem::exists(of_rank));
    EXPECT_TRUE(same(bytes_of(final_path), Bytes(10, std::byte{2})));
  }
  leave(0, Bytes(10, std::byte{3}));
  EXPECT_EQ(run({"recover", "."}, tier), 0) << said;
  EXPECT_TRUE(same(bytes_of(final_path), Bytes(10, std::byte{3})));
}

// Nobody comes between two of them, nor does another file wait.
TEST_F(StagingCommandTest, RecoversAllLogsOfAFileTogether) {
  const std::vector logs = {writer_folder(log, 0), writer_folder(log, 1)};
  leave(0, Bytes(10, std::byte{1}));
  leave(1, Bytes(10, std::byte{1}));
  std::optional<TierLock> marks(lock_marks(tier));  // the command needs it for the end of the first log
  const pid_t command = start({"recover", tier});
  while (!test::is_waited_for(tier + "/.dovetail-" + std::to_string(::geteuid()) + ".marks.lock") &&
         ::waitpid(command, nullptr, WNOHANG) == 0) {
    std::this_thread::yield();
  }
  for (const std::string& each : logs) {
    EXPECT_EQ(take_to_recover(each, FileCalls::system()).failure.error, EBUSY);
  }
  EXPECT_TRUE(bytes_of(final_path) == Bytes(10, std::byte{1}));
  EXPECT_EQ(lock_tier(tier).failure.text(), "");
  marks.reset();
  EXPECT_EQ(end_of(command), 0) << said;
  EXPECT_FALSE(std::filesystem::exists(logs[1]));
}

// What it has seen first may be old by then: it has waited for the drains of other files.
TEST_F(StagingCommandTest, RecoversWhatIsThereOfAFileWhenItsTurnComes) {
  const std::string second = final_path + ".other";
  put(second, {});
  const std::string log_of_second = folder_of(tier, second).folder;
  const auto leave = [&](unsigned writer, std::byte value) {
    const TieredFile::Opened opened = TieredFile::open(writer_folder(log_of_second, writer), second, settings);
    ASSERT_EQ(opened.failure.text(), "");
    ASSERT_EQ(opened.file->write(0, Bytes(10, value)).text(), "");
    settings.generation = opened.file->generation();
  };
  ASSERT_EQ(open()->write(0, Bytes(10, std::byte{1})).text(), "");
  settings.shared = true;
  leave(5, std::byte{5});
  leave(6, std::byte{6});
  std::optional<TierLock> marks(lock_marks(tier));
  const pid_t command = start({"recover", tier});
  while (!test::is_waited_for(tier + "/.dovetail-" + std::to_string(::geteuid()) + ".marks.lock") &&
         ::waitpid(command, nullptr, WNOHANG) == 0) {
    std::this_thread::yield();
  }
  std::filesystem::remove_all(writer_folder(log_of_second, 5));  // as if its process had drained it
  std::filesystem::rename(writer_folder(log_of_second, 6), writer_folder(log_of_second, 7));
  marks.reset();
  EXPECT_EQ(end_of(command), 0) << said;
  EXPECT_EQ(said, "");
  EXPECT_TRUE(same(bytes_of(second), Bytes(10, std::byte{6})));
  EXPECT_FALSE(std::filesystem::exists(writer_folder(log_of_second, 7)));
}

// Whoever takes it waits for one that has it shared, with the lock of the tier.
TEST_F(StagingCommandTest, WaitKeepsNobodyFromTheFolderWhileItReads) {
  ASSERT_EQ(open()->write(0, test::random_bytes(100, 1)).text(), "");
  const std::string segment = segments().front();
  std::filesystem::resize_file(segment, std::uintmax_t{1} << 38);  // it takes minutes to read it
  const pid_t command = start({"wait", log});
  const std::string descriptors = "/proc/" + std::to_string(command) + "/fd";
  const auto reads = [&] {
    std::error_code error;
    std::filesystem::directory_iterator entry(descriptors, error);
    return std::any_of(entry, {},
                       [&](const auto& each) { return std::filesystem::read_symlink(each.path(), error) == segment; });
  };
  while (!reads() && ::waitpid(command, nullptr, WNOHANG) == 0) {
    std::this_thread::yield();
  }
  LockedDescriptor taken(::open(log.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int error = lock_file(taken.get(), LOCK_EX | LOCK_NB);
  EXPECT_TRUE(reads()) << "it has ended: the test tests nothing";
  EXPECT_EQ(error, 0);
  EXPECT_EQ(::kill(command, SIGKILL), 0);
  EXPECT_EQ(end_of(command), -1);
}

TEST_F(StagingCommandTest, ATierHasNoFoldersOfKilledRecoveries) {
  ASSERT_EQ(::mkdir(log.c_str(), 0700), 0);
  put(log + "/" + closed_name, {});
  EXPECT_EQ(run({"recover", tier}), 0) << said;
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST_F(StagingCommandTest, WaitsForTheProcessThatHasIt) {
  auto file = open();
  ASSERT_EQ(file->write(0, test::random_bytes(100, 1)).text(), "");
  std::atomic<bool> has_ended = false;
  int status = -1;
  std::jthread waiter([&] {
    status = run({"wait", log});
    has_ended = true;
  });
  // The command waits for the lock then: the kernel says so.
  while (!test::is_waited_for(log)) {
    ASSERT_FALSE(has_ended);
    std::this_thread::yield();
  }
  ASSERT_EQ(file->finish().text(), "");
  file.reset();
  waiter.join();
  EXPECT_EQ(status, 0) << said;
  EXPECT_EQ(run({"wait", log}), 1) << "there is no such folder";
}

TEST_F(StagingCommandTest, DiscardsWhatItIsToldTo) {
  auto file = open();
  ASSERT_EQ(file->write(0, test::random_bytes(30'000, 1)).text(), "");
  ASSERT_EQ(file->write(30'000, test::random_bytes(30'000, 1)).text(), "");
  EXPECT_EQ(run({"discard", "--force", log}), 1) << "this process has it";
  file.reset();
  EXPECT_EQ(run({"discard", log}), 1);
  EXPECT_NE(said.find("60000 bytes"), std::string::npos) << said;
  std::filesystem::remove(final_path);  // it does not matter any more
  EXPECT_EQ(run({"discard", "--force", log}), 0) << said;
  EXPECT_FALSE(std::filesystem::exists(log));
}

// Not the beginning of it either.
TEST_F(StagingCommandTest, HalfOfADiscardIsNoLogAnyMore) {
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(open()->write(i * 20'000, test::random_bytes(20'000, i)).text(), "");
  }
  ASSERT_EQ(open()->sync().text(), "");
  const std::size_t all = segments().size();
  ASSERT_GE(all, 4U);
  int removed = 0;
  calls.before = [&](const Asked& asked) {
    return Fault{.error = asked.kind == Kind::remove && ++removed > 2 ? EIO : 0};
  };
  EXPECT_EQ(discard(log, calls).error, EIO);
  calls.before = [](const Asked&) { return Fault{}; };
  EXPECT_EQ(segments().size(), all - 2);
  EXPECT_EQ(run({"status", tier}), 0) << said;
  EXPECT_NE(said.find("no staged file"), std::string::npos) << said;
  auto file = open();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->size(), 0U);
  EXPECT_TRUE(segments().empty());
}

// Another job has opened the file for writing since, with another tier.
TEST_F(StagingCommandTest, WhatWasSupersededIsToldAndKept) {
  const Bytes older = test::random_bytes(10'000, 1);
  ASSERT_EQ(open()->write(0, older).text(), "");
  const std::string other = folder / "other";
  std::filesystem::create_directory(other);
  const FolderName name = folder_of(other, final_path);
  TieredFile::Opened second = TieredFile::open(name.folder, final_path, settings);
  ASSERT_EQ(second.failure.text(), "");
  ASSERT_EQ(second.elsewhere.size(), 1U);
  EXPECT_EQ(second.elsewhere[0].tier, tier_here(tier));
  const Bytes newer = test::random_bytes(100, 2);
  ASSERT_EQ(second.file->write(0, newer).text(), "");
  ASSERT_EQ(second.file->finish().text(), "");
  EXPECT_EQ(run({"status", log}), 0);
  EXPECT_NE(said.find("superseded"), std::string::npos) << said;
  EXPECT_EQ(run({"recover", tier}), 1);
  EXPECT_NE(said.find("--over-newer"), std::string::npos) << said;
  EXPECT_NE(said.find(log), std::string::npos) << said;
  EXPECT_TRUE(same(bytes_of(final_path), newer));
  EXPECT_EQ(run({"discard", log}), 1) << "it has bytes that are nowhere else";
  EXPECT_EQ(run({"recover", "--over-newer", log}), 0) << said;
  EXPECT_TRUE(same(bytes_of(final_path), older));
  EXPECT_FALSE(std::filesystem::exists(log));
}

TEST_F(StagingCommandTest, RecoveryOverWhatIsNewerTellsWhereThatIs) {
  ASSERT_EQ(open()->write(0, Bytes(100, std::byte{1})).text(), "");
  const std::string other = folder / "other";
  std::filesystem::create_directory(other);
  const FolderName name = folder_of(other, final_path);
  ASSERT_EQ(TieredFile::open(name.folder, final_path, settings).file->write(0, Bytes(100, std::byte{2})).text(), "");
  EXPECT_EQ(run({"recover", "--over-newer", log}), 0) << said;
  EXPECT_NE(said.find(std::filesystem::canonical(other)), std::string::npos) << said;
  EXPECT_TRUE(same(bytes_of(final_path), Bytes(100, std::byte{1})));
  // Its turn.
  EXPECT_EQ(run({"recover", "--over-newer", name.folder}), 0) << said;
  EXPECT_EQ(said.find("may have bytes"), std::string::npos) << said;
  EXPECT_TRUE(same(bytes_of(final_path), Bytes(100, std::byte{2})));
}

TEST_F(StagingCommandTest, DamageIsTold) {
  auto file = open();
  ASSERT_EQ(file->write(0, test::random_bytes(1000, 1)).text(), "");
  ASSERT_EQ(file->write(1000, test::random_bytes(1000, 2)).text(), "");
  ASSERT_EQ(file->sync().text(), "");
  file.reset();
  Bytes bytes = bytes_of(segments().front());
  bytes[header_bytes * 3 + 1500] ^= std::byte{1};
  put(segments().front(), bytes);
  EXPECT_EQ(run({"verify", log}), 1);
  EXPECT_NE(said.find(segments().front()), std::string::npos) << said;
  EXPECT_EQ(run({"recover", log}), 1);
  EXPECT_EQ(run({"recover", "--take-what-is-left", log}), 0) << said;
  EXPECT_TRUE(same(bytes_of(final_path), test::random_bytes(1000, 1)));
}

TEST_F(StagingCommandTest, WrongArgumentsEndWithStatus2) {
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(run({"drop", log}), 2);
  EXPECT_EQ(run({"recover"}), 2);
  EXPECT_EQ(run({"recover", "--help"}), 0);
}

TEST_F(StagingCommandTest, LookingChangesNothing) {
  ASSERT_EQ(open()->write(0, test::random_bytes(1000, 1)).text(), "");
  const Bytes before = bytes_of(segments().front());
  const Inspection found = inspect(log);
  EXPECT_EQ(found.failure.text(), "");
  EXPECT_EQ(found.staged_bytes, 1000U);
  EXPECT_TRUE(same(bytes_of(segments().front()), before));
  EXPECT_EQ(inspect(folder / "nowhere").failure.error, ENOENT);
}

TEST_F(StagingCommandTest, RecoversNoLogOverOneThatCannotBe) {
  settings.shared = true;
  for (const unsigned writer : {0U, 1U}) {
    TieredFile::Opened opened = TieredFile::open(writer_folder(log, writer), final_path, settings);
    ASSERT_EQ(opened.failure.text(), "");
    ASSERT_EQ(opened.file->write(0, Bytes(1000, static_cast<std::byte>(1 + writer))).text(), "");
    ASSERT_EQ(opened.file->sync().text(), "");
    settings.generation = opened.file->generation();
  }
  const std::string segment = writer_folder(log, 0) + "/00000001.log";
  Bytes bytes = bytes_of(segment);
  bytes[200] ^= std::byte{1};
  put(segment, bytes);
  EXPECT_EQ(run({"recover", tier}), 1);
  EXPECT_NE(said.find(writer_folder(log, 1) + " stays"), std::string::npos) << said;
  EXPECT_TRUE(bytes_of(final_path).empty());
  EXPECT_EQ(run({"recover", "--take-what-is-left", tier}), 0) << said;
  EXPECT_TRUE(same(bytes_of(final_path), Bytes(1000, std::byte{2})));
}

}  // namespace
}  // namespace dovetail::staging
