// `dovetail::prefetch`: the bytes come, nothing else does, and what goes wrong later harms nothing.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "dovetail/dovetail.hpp"
#include "prefetch/cold_file.hpp"
#include "tasking/background.hpp"

namespace dovetail {
namespace {

constexpr std::size_t kibibyte = std::size_t{1} << 10;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

class PrefetchCallTest : public testing::Test {
 protected:
  ~PrefetchCallTest() override { tasking::end_background(); }
  // What was asked for before has been dealt with.
  static void await_earlier_calls() {
    const test::ColdFile last(64 * kibibyte);
    const File file = File::open(last.path(), O_RDONLY);
    prefetch(file, 0, 64 * kibibyte);
    last.await(0, 64 * kibibyte);
  }
  static int error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const IoError& error) {
      EXPECT_NE(std::string(error.what()).find("prefetch"), std::string::npos) << error.what();
      return error.code().value();
    }
    return 0;
  }
  test::Variable gap_{"DOVETAIL_PREFETCH_GAP_KB", "0"};
  test::ColdFile cold_{8 * mebibyte};
};

TEST_F(PrefetchCallTest, TheBytesComeAndNoOthers) {
  const File file = File::open(cold_.path(), O_RDONLY);
  prefetch(file, {{4 * mebibyte, mebibyte}, {mebibyte, 64 * kibibyte}});
  cold_.await({{4 * mebibyte, mebibyte}, {mebibyte, 64 * kibibyte}});
  await_earlier_calls();
  cold_.expect_cached(mebibyte + 64 * kibibyte);
}

TEST_F(PrefetchCallTest, ASmallGapIsReadAsWell) {
  const test::Variable gap("DOVETAIL_PREFETCH_GAP_KB", "64");
  const File file = File::open(cold_.path(), O_RDONLY);
  prefetch(file, {{512 * kibibyte, 64 * kibibyte}, {128 * kibibyte, 64 * kibibyte}, {0, 64 * kibibyte}});
  cold_.await({{512 * kibibyte, 64 * kibibyte}, {0, 192 * kibibyte}});
  await_earlier_calls();
  cold_.expect_cached(256 * kibibyte);
}

TEST_F(PrefetchCallTest, ATaskMayAskAndReadsWhatIsInTheFile) {
  Runtime runtime(Options{.workers = 2});
  const File file = File::open(cold_.path(), O_RDONLY);
  std::vector<std::byte> read(mebibyte);
  runtime
      .spawn([&] {
        prefetch(file, 0, 4 * mebibyte);
        file.pread(read, 3 * mebibyte);
      })
      .get();
  EXPECT_TRUE(std::equal(read.begin(), read.end(), cold_.content().begin() + 3 * mebibyte));
  cold_.await(0, 4 * mebibyte);
}

TEST_F(PrefetchCallTest, TheTraceShowsItBesideTheReadsOfTheProgram) {
  Runtime runtime(Options{.workers = 1});
  const File file = File::open(cold_.path(), O_RDONLY);
  std::vector<std::byte> read(mebibyte);
  trace::start();
  prefetch(file, {{mebibyte, 2 * mebibyte}, {6 * mebibyte, 64 * kibibyte}});
  cold_.await(6 * mebibyte, 64 * kibibyte);
  await_earlier_calls();
  runtime.spawn([&] { file.pread(read, 5 * mebibyte); }).get();
  trace::stop();
  const test::Folder folder;
  trace::write(folder / "trace.json");
  const nlohmann::json events = nlohmann::json::parse(std::ifstream(folder / "trace.json"))["traceEvents"];
  std::vector<bool> shown(8 * mebibyte / (64 * kibibyte));
  std::size_t reads = 0;
  for (const nlohmann::json& event : events) {
    const bool is_transfer = event.value("cat", "") == "io" || event.value("cat", "") == "ahead";
    if (!is_transfer || event["args"]["file"] != cold_.path()) {
      continue;
    }
    const std::uint64_t offset = event["args"]["offset"];
    const std::uint64_t bytes = event["args"]["bytes"];
    if (event["cat"] == "io") {
      EXPECT_EQ(offset, 5 * mebibyte);
      ++reads;
      continue;
    }
    EXPECT_EQ(event["cat"], "ahead");
    EXPECT_EQ(event["name"], "read ahead");
    EXPECT_EQ(event["args"]["result"], bytes);
    std::fill_n(shown.begin() + static_cast<std::ptrdiff_t>(offset / (64 * kibibyte)), bytes / (64 * kibibyte), true);
  }
  EXPECT_EQ(reads, 1U);
  for (std::size_t place = 0; place < shown.size(); ++place) {
    EXPECT_EQ(shown[place], (place >= 16 && place < 48) || place == 96) << place * 64 << " KiB";
  }
}

TEST_F(PrefetchCallTest, BehindTheEndThereIsNothing) {
  const File file = File::open(cold_.path(), O_RDONLY);
  prefetch(file, {{8 * mebibyte - 100, largest - 8 * mebibyte}, {largest, 0}});
  cold_.await(8 * mebibyte - 4096, 4096);
  prefetch(file, 20 * mebibyte, mebibyte);
  prefetch(file, std::span<const FileRange>());
  await_earlier_calls();
  cold_.expect_cached(4096);
}

TEST_F(PrefetchCallTest, WhatMakesNoSenseIsRefused) {
  File file = File::open(cold_.path(), O_RDONLY);
  EXPECT_EQ(error_of([&] { prefetch(file, largest + 1, 1); }), EINVAL);
  EXPECT_EQ(error_of([&] { prefetch(file, 1, largest); }), EINVAL);
  EXPECT_EQ(error_of([&] { prefetch(file, {{0, 1}, {0, ~std::uint64_t{0}}}); }), EINVAL);
  EXPECT_EQ(error_of([&] { prefetch(File(), 0, 1); }), EBADF);
  file.close();
  EXPECT_EQ(error_of([&] { prefetch(file, 0, 1); }), EBADF);
  const test::Variable gap("DOVETAIL_PREFETCH_GAP_KB", "wide");
  file = File::open(cold_.path(), O_RDONLY);
  EXPECT_THROW(prefetch(file, 0, 1), std::invalid_argument);
}

TEST_F(PrefetchCallTest, NothingHappensWhereThePageCacheIsNotUsed) {
  const File file = File::open(cold_.path(), O_RDONLY, {.direct = Direct::automatic});
  if (!file.direct()) {
    GTEST_SKIP() << "no direct files here";
  }
  prefetch(file, 0, mebibyte);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const File reading = File::from_descriptor(ends[0], true);
  const File writing = File::from_descriptor(ends[1], true);
  prefetch(reading, 0, mebibyte);
  await_earlier_calls();
  EXPECT_EQ(cold_.cached(0, mebibyte), 0U);
}

TEST_F(PrefetchCallTest, AFileMayBeClosedAndDeletedMeanwhile) {
  for (int i = 0; i < 20; ++i) {
    File file = File::open(cold_.path(), O_RDONLY);
    prefetch(file, 0, 8 * mebibyte);
    if (i % 2 == 0) {
      file.close();
    }
    file = File();
    cold_.forget();
  }
  ASSERT_EQ(unlink(cold_.path().c_str()), 0);
  await_earlier_calls();
}

TEST_F(PrefetchCallTest, ADescriptorOfTheProgramMayLeadToAnotherFileMeanwhile) {
  const test::ColdFile other(mebibyte);
  const int descriptor = ::open(cold_.path().c_str(), O_RDONLY | O_CLOEXEC);
  const File file = File::from_descriptor(descriptor);
  const int another = ::open(other.path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(dup2(another, descriptor), descriptor);
  prefetch(file, 0, mebibyte);
  await_earlier_calls();
  EXPECT_EQ(other.cached(0, mebibyte), 0U);
  EXPECT_EQ(cold_.cached(0, mebibyte), 0U);
  ::close(another);
  ::close(descriptor);
}

TEST_F(PrefetchCallTest, ARuntimeEndsWithAdviceLeft) {
  const File file = File::open(cold_.path(), O_RDONLY);
  for (int i = 0; i < 10; ++i) {
    cold_.forget();
    Runtime runtime(Options{.workers = 1});
    runtime
        .spawn([&] {
          for (std::uint64_t at = 0; at < 8 * mebibyte; at += 64 * kibibyte) {
            prefetch(file, at, 64 * kibibyte);
          }
        })
        .get();
  }
  await_earlier_calls();
}

TEST_F(PrefetchCallTest, ManyThreadsMayAskAtOnce) {
  const File file = File::open(cold_.path(), O_RDONLY);
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t part = 0; part < 64; ++part) {
        prefetch(file, number * 2 * mebibyte + part * 32 * kibibyte, 32 * kibibyte);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  cold_.await(0, 8 * mebibyte);
}

}  // namespace
}  // namespace dovetail
