#include "harness/harness.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bench {
namespace {

/// A program with two options of its own; says what it understood.
int run(std::vector<std::string> words) {
  CommandLine line("problem", "runtime");
  const std::int64_t& side = line.size("side", 5, "cells on a side");
  const std::string& way = line.choice("way", {"for", "reduce"}, "which way");
  words.insert(words.begin(), "program");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  line.parse(static_cast<int>(arguments.size()), arguments.data());
  Report report(line);
  report.add("ns", 1.5);
  report.add("ns", static_cast<double>(side));
  report.add("bytes", 123456789012345.0);
  if (way == "reduce") report.wrong("the sum is \"off\"");
  return report.finish();
}

nlohmann::json reported(const std::vector<std::string>& words, int status) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(words), status);
  return nlohmann::json::parse(testing::internal::GetCapturedStdout());
}

TEST(Harness, ReportsWhatItMeasuredWithItsParameters) {
  const nlohmann::json report = reported({"--json", "--side", "7", "--workers", "3"}, 0);
  EXPECT_EQ(report.at("benchmark"), "problem");
  EXPECT_EQ(report.at("contender"), "runtime");
  EXPECT_EQ(report.at("workers"), 3);
  EXPECT_EQ(report.at("parameters"), nlohmann::json({{"side", 7}, {"way", "for"}}));
  EXPECT_EQ(report.at("correct"), true);
  EXPECT_EQ(report.at("metrics").at("ns"), nlohmann::json({1.5, 7}));
  EXPECT_EQ(report.at("metrics").at("bytes"), nlohmann::json({123456789012345.0}));
  EXPECT_GT(report.at("metrics").at("peak_resident_bytes").at(0), 0);
}

// The runner appends small sizes to the arguments of a contender for --quick.
TEST(Harness, TheLastValueOfAnOptionCounts) {
  const nlohmann::json report = reported(
      {"--json", "--side", "7", "--way", "reduce", "--workers", "3", "--side", "2", "--way", "for", "--workers", "1"},
      0);
  EXPECT_EQ(report.at("workers"), 1);
  EXPECT_EQ(report.at("parameters"), nlohmann::json({{"side", 2}, {"way", "for"}}));
}

TEST(Harness, AWrongAnswerIsReportedAndIsStatus1) {
  const nlohmann::json report = reported({"--json", "--way", "reduce"}, 1);
  EXPECT_EQ(report.at("correct"), false);
  EXPECT_EQ(report.at("wrong"), "the sum is \"off\"");
}

TEST(Harness, WithoutJsonItPrintsAMedianForEachMetric) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({}), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("problem, runtime, 2 workers"), std::string::npos) << said;
  EXPECT_NE(said.find("median 3.25   min 1.5   max 5   (2)"), std::string::npos) << said;
}

TEST(Harness, BadOptionsAreRefusedWithTheirNameAndStatus2) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> bad = {
      {{"--side", "0"}, "--side"},     {{"--side", "x"}, "--side"},
      {{"--side"}, "--side"},          {{"--way", "back"}, "--way"},
      {{"--colour", "1"}, "--colour"}, {{"--repeat", "0"}, "--repeat"},
      {{"--warmup", "-1"}, "--warm"},  {{"word"}, "word"}};
  for (const auto& [words, named] : bad) {
    EXPECT_EXIT(run(words), testing::ExitedWithCode(2), named) << words.front();
  }
  EXPECT_EXIT(
      {
        dup2(2, 1);  // the expression looks at standard error
        run({"--help"});
      },
      testing::ExitedWithCode(0), "cells on a side");
}

TEST(Harness, ARunIsMeasuredAfterItsWarmUpAndJudgedEachTime) {
  CommandLine line("problem", "runtime");
  char program[] = "program";
  char repeat[] = "--repeat";
  char warmup[] = "--warmup";
  char three[] = "3";
  char two[] = "2";
  char json[] = "--json";
  char* arguments[] = {program, repeat, three, warmup, two, json};
  line.parse(6, arguments);
  int prepared = 0;
  int ran = 0;
  testing::internal::CaptureStdout();
  const int status = measure_and_finish(line, {.operations = 10,
                                               .prepare = [&] { ++prepared; },
                                               .run = [&] { ++ran; },
                                               .check = [&] { return ran == 4 ? "run 4 is wrong" : std::string(); }});
  const nlohmann::json report = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(status, 1);
  EXPECT_EQ(prepared, 5);
  EXPECT_EQ(ran, 5);
  EXPECT_EQ(report.at("metrics").at("ns").size(), 3U);
  EXPECT_EQ(report.at("wrong"), "run 4 is wrong");
}

}  // namespace
}  // namespace bench
