#include "trace/export.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "json_reader.hpp"
#include "recording_builder.hpp"
#include "trace/trace.hpp"

namespace dovetail::trace {
namespace {

using Json = nlohmann::json;
using test::read_json;
using test::read_json_file;
using test::RecordingBuilder;

/// A folder that goes away with the test.
class Export : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "dovetail-trace-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Json exported(const RecordingBuilder& builder) {
    const std::string path = folder_ / "trace.json";
    write(builder.recording(), path);
    return read_json_file(path);
  }
  std::filesystem::path folder_;
};

std::vector<Json> select(const Json& trace, const std::string& key, const std::string& value) {
  std::vector<Json> found;
  for (const Json& event : trace["traceEvents"])
    if (event.contains(key) && event[key].get<std::string>() == value) found.push_back(event);
  return found;
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  EXPECT_NO_THROW(read_json(R"({"a":[1,-2.5e3,"x\"\u001f",true,null,{}]})"));
  for (const char* bad :
       {"", "{", "[1,]", "{\"a\":1,}", "\"a\nb\"", "01", "1.", "[1]]", "\"\xff\"", "{\"a\":1,\"a\":2}", "nan"})
    EXPECT_THROW(read_json(bad), std::runtime_error) << bad;
}

TEST_F(Export, APipeOrALinkIsNoTraceFile) {
  const std::string pipe = folder_ / "pipe";
  const std::string link = folder_ / "link";
  const std::filesystem::path precious = folder_ / "precious";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(precious) << "data";
  std::filesystem::create_symlink(precious, link);
  for (const auto& [path, kind] :
       {std::pair{pipe, "pipe"}, {link, "symbolic link"}, {std::string("/dev/null"), "device"}})
    for (const bool only_ask : {true, false}) try {
        only_ask ? require_writable(path) : write(RecordingBuilder(0).recording(), path);
        ADD_FAILURE() << path << " was taken";
      } catch (const std::system_error& error) {
        EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find(kind), std::string::npos) << error.what();
      }
  EXPECT_EQ(std::filesystem::file_size(precious), 4U);
}

// Another program puts these into one file: the numbers of two ranks differ, and each event is a line.
TEST_F(Export, OfARankHasNumbersOfItsOwnAndBothEndsOfMessages) {
  RecordingBuilder builder(1000);
  builder.process(3, 4);
  const auto worker = builder.worker(0);
  builder.add(worker, 100, Kind::started, 1, "sender").begin_message(worker, 150, 7, 1, "MPI_Send");
  builder.pair(worker, 160, Kind::send_posted, 7, {2, 9}, "world", 4096).add(worker, 200, Kind::returned, 1);
  builder.pair(worker, 400, Kind::message_ended, 7, {unknown_number, unknown_number});
  builder.begin_message(worker, 500, 8, 1, "MPI_Recv");
  builder.pair(worker, 510, Kind::receive_posted, 8, {unknown_number, unknown_number}, "world");
  const Json trace = exported(builder);
  EXPECT_EQ(trace["otherData"]["rank"].get<int>(), 3);
  EXPECT_EQ(trace["otherData"]["ranks"].get<int>(), 4);
  EXPECT_GT(trace["otherData"]["communication_s"].get<double>(), 0);
  const auto messages = select(trace, "cat", "message");
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0]["pid"].get<int>(), 12);
  EXPECT_EQ(messages[0]["name"].get<std::string>(), "MPI_Send");
  const Json& sent = messages[0]["args"];
  EXPECT_EQ(sent["direction"].get<std::string>(), "send");
  EXPECT_EQ(sent["channel"].get<std::string>(), "world");
  EXPECT_EQ(sent["bytes"].get<int>(), 4096);
  EXPECT_FALSE(messages[1]["args"].contains("bytes"));
  EXPECT_EQ(sent["peer"].get<int>(), 2);
  EXPECT_EQ(sent["tag"].get<int>(), 9);
  EXPECT_EQ(sent["task_name"].get<std::string>(), "sender");
  EXPECT_EQ(sent["touches"]["tid"].get<int>(), 3'000'001);
  EXPECT_EQ(sent["touches"]["after_us"].get<double>(), 0);
  EXPECT_TRUE(messages[1]["args"]["still_outstanding"].get<bool>());
  EXPECT_FALSE(messages[1]["args"].contains("peer")) << "nothing has been received";
  const auto tasks = select(trace, "cat", "task");
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0]["pid"].get<int>(), 10);
  const auto counts = select(trace, "name", "messages outstanding");
  EXPECT_EQ(counts.size(), 4U);
  std::ifstream file(folder_ / "trace.json");
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(read_json(line.substr(0, line.size() - 1) + "}")["otherData"]["rank"].get<int>(), 3);
  std::getline(file, line);
  while (std::getline(file, line) && line != "]}") {
    EXPECT_NO_THROW(read_json(line.ends_with(",") ? line.substr(0, line.size() - 1) : line)) << line;
  }
  EXPECT_EQ(line, "]}");
}

TEST_F(Export, OfAnEmptyRecordingIsValid) {
  const Json trace = exported(RecordingBuilder(0));
  EXPECT_TRUE(select(trace, "ph", "X").empty());
  EXPECT_EQ(trace["otherData"]["lost_events"].get<double>(), 0);
}

TEST_F(Export, SlicesAreOnTheTrackOfTheirThread) {
  RecordingBuilder builder(1'000'000);
  const auto executor = builder.thread(ThreadKind::executor, 2);
  const auto worker = builder.worker(0);
  builder.add(worker, 500, Kind::created, 31).add(worker, 600, Kind::dependencies_met, 31);
  builder.access(worker, 550, 31, "in", "rank 3", 4, 8).access(worker, 560, 31, "out", "b\"c", 0, 1);
  builder.add(worker, 1000, Kind::ready, 31);
  builder.add(worker, 1500, Kind::started, 31, "stencil").add(worker, 2750, Kind::paused, 31, "io");
  builder.add(executor, 4000, Kind::resumed, 31).add(executor, 5000, Kind::returned, 31);
  const Json trace = exported(builder);
  const auto slices = select(trace, "cat", "task");
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0]["name"].get<std::string>(), "stencil");
  EXPECT_EQ(slices[0]["ts"].get<double>(), 1.5);
  EXPECT_EQ(slices[0]["dur"].get<double>(), 1.25);
  EXPECT_EQ(slices[0]["args"]["task"].get<std::string>(), "0x1f");
  EXPECT_EQ(slices[0]["args"]["paused_for"].get<std::string>(), "io");
  EXPECT_EQ(slices[0]["args"]["ready_for_us"].get<double>(), 0.5);
  EXPECT_EQ(slices[0]["args"]["waited_for_accesses_us"].get<double>(), 0.1);
  EXPECT_EQ(slices[0]["args"]["accesses"].get<std::string>(), "in 'rank 3' [4, 12), out 'b\"c' [0, 1)");
  EXPECT_EQ(slices[0]["args"]["made"].get<int>(), 1);
  EXPECT_FALSE(slices[1]["args"].contains("accesses"));
  EXPECT_FALSE(slices[1]["args"].contains("made"));
  EXPECT_TRUE(slices[0].contains("flow_out"));
  EXPECT_FALSE(slices[0].contains("flow_in"));
  EXPECT_TRUE(slices[1].contains("flow_in"));
  EXPECT_EQ(slices[0]["bind_id"].get<double>(), slices[1]["bind_id"].get<double>());

  std::map<double, std::string> titles;
  for (const Json& event : select(trace, "name", "thread_name"))
    if (event["pid"].get<double>() == slices[0]["pid"].get<double>())
      titles[event["tid"].get<double>()] = event["args"]["name"].get<std::string>();
  EXPECT_EQ(titles[slices[0]["tid"].get<double>()], "worker 0");
  EXPECT_EQ(titles[slices[1]["tid"].get<double>()], "I/O executor 2");
}

TEST_F(Export, RequestsHaveTracksOfTheirOwnAndACounter) {
  RecordingBuilder builder(10'000);
  const auto worker = builder.worker(0);
  builder.submit(worker, 1000, Kind::read_submitted, 1, 4096, 1ULL << 40, "pread", "/data/in.bin");
  builder.submit(worker, 2000, Kind::write_submitted, 2, 512, 0, "pwrite", "/data/out.bin");
  builder.complete(worker, 3000, 2, -28).complete(worker, 4000, 1, 4096);
  const Json trace = exported(builder);
  const auto requests = select(trace, "cat", "io");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0]["name"].get<std::string>(), "pwrite");
  EXPECT_EQ(requests[0]["args"]["error"].get<std::string>(), "ENOSPC");
  EXPECT_EQ(requests[0]["args"]["result"].get<double>(), -28);
  EXPECT_EQ(requests[1]["args"]["file"].get<std::string>(), "/data/in.bin");
  EXPECT_EQ(requests[1]["args"]["bytes"].get<double>(), 4096);
  EXPECT_EQ(requests[1]["args"]["offset"].get<double>(), static_cast<double>(1ULL << 40));
  EXPECT_EQ(requests[1]["args"]["submitted_on"].get<std::string>(), "worker 0");
  EXPECT_NE(requests[0]["tid"].get<double>(), requests[1]["tid"].get<double>());
  std::vector<double> counts;
  for (const Json& event : select(trace, "ph", "C")) counts.push_back(event["args"]["requests"].get<double>());
  EXPECT_EQ(counts, (std::vector<double>{1, 2, 1, 0}));
}

TEST_F(Export, WhatIsReadAheadHasATrackBesideTheRequests) {
  RecordingBuilder builder(10'000);
  const auto executor = builder.thread(ThreadKind::executor, 0);
  builder.submit(executor, 1000, Kind::ahead_submitted, 1, 4096, 8192, "read ahead", "in.bin");
  builder.submit(executor, 1100, Kind::read_submitted, 2, 512).complete(executor, 1200, 2, 512);
  builder.complete(executor, 3000, 1, 4096);
  const Json trace = exported(builder);
  const auto ahead = select(trace, "cat", "ahead");
  ASSERT_EQ(ahead.size(), 1U);
  EXPECT_EQ(ahead[0]["args"]["offset"].get<double>(), 8192);
  const auto requests = select(trace, "cat", "io");
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(ahead[0]["pid"].get<double>(), requests[0]["pid"].get<double>());
  std::map<double, std::string> titles;
  for (const Json& event : select(trace, "name", "thread_name")) {
    titles[event["tid"].get<double>()] = event["args"]["name"].get<std::string>();
  }
  EXPECT_EQ(titles[ahead[0]["tid"].get<double>()], "read ahead 1");
  EXPECT_EQ(titles[requests[0]["tid"].get<double>()], "request 1");
}

TEST_F(Export, SleepAndFailuresShow) {
  RecordingBuilder builder(10'000);
  const auto worker = builder.worker(0);
  builder.add(worker, 100, Kind::idle_begin, 0).add(worker, 300, Kind::idle_end, 0);
  builder.add(worker, 400, Kind::started, 1, "load").fail(worker, 450, 1, "load", "no such \"file\"");
  builder.end(worker, 500, Kind::returned, 1, 60);
  const Json trace = exported(builder);
  ASSERT_EQ(select(trace, "cat", "idle").size(), 1U);
  const auto failures = select(trace, "cat", "failure");
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(select(trace, "name", "load")[0]["args"]["processor_us"].get<double>(), 0.06);
  EXPECT_EQ(failures[0]["name"].get<std::string>(), "failed: load");
  EXPECT_EQ(failures[0]["args"]["reason"].get<std::string>(), "no such \"file\"");
}

TEST_F(Export, LabelsOfAnyBytesGiveValidJson) {
  std::string all_bytes;
  for (int byte = 1; byte < 128; ++byte) all_bytes += static_cast<char>(byte);
  const std::string letters = "\u00fc \u20ac \U0001F426";
  RecordingBuilder builder(10'000);
  const auto worker = builder.worker(0);
  builder.slice(worker, 1, 2, 1, all_bytes).slice(worker, 3, 4, 2, letters);
  builder.slice(worker, 5, 6, 3, "a\xff\xc0\x80z")
      .slice(worker, 7, 8, 4, "cut \xe2\x82")
      .slice(worker, 9, 10, 5, "\xed\xa0\x80");
  builder.slice(worker, 11, 12, 6);
  const auto slices = select(exported(builder), "cat", "task");
  ASSERT_EQ(slices.size(), 6U);
  const std::string replacement = "\uFFFD";
  EXPECT_EQ(slices[0]["name"].get<std::string>(), all_bytes);
  EXPECT_EQ(slices[1]["name"].get<std::string>(), letters);
  EXPECT_EQ(slices[2]["name"].get<std::string>(), "a" + replacement + replacement + replacement + "z");
  EXPECT_EQ(slices[3]["name"].get<std::string>(), "cut " + replacement);
  EXPECT_EQ(slices[4]["name"].get<std::string>(), replacement + replacement + replacement);
  EXPECT_EQ(slices[5]["name"].get<std::string>(), "task");
}

TEST_F(Export, LossesAreInTheMetadata) {
  RecordingBuilder builder(10'000);
  const auto worker = builder.worker(0, 123);
  builder.slice(worker, 5000, 6000, 1);
  const Json trace = exported(builder);
  EXPECT_EQ(trace["otherData"]["lost_events"].get<double>(), 123);
  EXPECT_EQ(trace["otherData"]["threads"].at(0)["lost"].get<double>(), 123);
  EXPECT_EQ(select(trace, "cat", "lost").size(), 1U);
}

TEST_F(Export, MoreThanOnePieceArrivesWhole) {
  RecordingBuilder builder(10'000'000);
  const auto worker = builder.worker(0);
  constexpr std::uint64_t tasks = 20'000;
  for (std::uint64_t i = 0; i < tasks; ++i) builder.slice(worker, 100 * i, 100 * i + 50, i, "block");
  EXPECT_EQ(select(exported(builder), "cat", "task").size(), tasks);
}

TEST_F(Export, ReplacesALongerFile) {
  RecordingBuilder longer(10'000);
  const auto worker = longer.worker(0);
  for (std::uint64_t i = 0; i < 100; ++i) longer.slice(worker, 10 * i, 10 * i + 5, i);
  exported(longer);
  EXPECT_TRUE(select(exported(RecordingBuilder(10)), "cat", "task").empty());
}

void expect_refused(const std::string& path, std::errc error) {
  RecordingBuilder builder(10);
  builder.slice(builder.worker(0), 1, 2, 1);
  try {
    write(builder.recording(), path);
    FAIL() << "no exception for " << path;
  } catch (const std::system_error& failure) {
    EXPECT_EQ(failure.code(), error);
    EXPECT_NE(std::string(failure.what()).find(path), std::string::npos) << failure.what();
  }
}

TEST_F(Export, AFileThatCannotBeWrittenIsNamed) {
  expect_refused((folder_ / "missing" / "trace.json").string(), std::errc::no_such_file_or_directory);
  expect_refused(folder_.string(), std::errc::is_a_directory);

  // As on a file system that is full: after the first bytes.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{16, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  expect_refused((folder_ / "large").string(), std::errc::file_too_large);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
}

// For the checks that Python makes with the same bytes: see timeline_png_test.py.
TEST_F(Export, WritesTheSampleThatWasAskedFor) {
  const char* path = std::getenv("DOVETAIL_TRACE_SAMPLE");
  if (path == nullptr) GTEST_SKIP() << "DOVETAIL_TRACE_SAMPLE is not set";
  constexpr std::uint64_t steps = 5000;
  RecordingBuilder builder(steps * 1000);
  const std::size_t workers[] = {builder.worker(0), builder.worker(1)};
  const auto executor = builder.thread(ThreadKind::executor, 0);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::uint64_t now = step * 1000;
    const auto worker = workers[step % 2];
    builder.add(worker, now, Kind::started, step, step % 50 == 0 ? "checkpoint \"x\"" : "block \u00fc");
    if (step % 50 == 0) {
      builder.submit(worker, now + 100, Kind::write_submitted, step, 1 << 16, step << 16, "pwrite", "field.bin");
      builder.add(worker, now + 200, Kind::paused, step, "io").complete(executor, now + 30'000, step, 1 << 16);
      builder.add(worker, now + 900, Kind::idle_begin, 0).add(worker, now + 1900, Kind::idle_end, 0);
    } else {
      builder.add(worker, now + 1800, Kind::returned, step);
    }
  }
  write(builder.recording(), path);
  EXPECT_EQ(select(read_json_file(path), "cat", "task").size(), steps);
}

}  // namespace
}  // namespace dovetail::trace
