// What is kept of a sweep, and what its summary says.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "folder.hpp"
#include "results.hpp"
#include "summary.hpp"

namespace dovetail::tiom {
namespace {

SweepPlan plan_of_three() {
  SweepPlan plan;
  plan.settings.file = "data";
  plan.settings.variants = {Variant::standalone, Variant::blocking};
  plan.points = std::vector<Point>(3);
  for (std::size_t i = 0; i < 3; ++i) {
    plan.points[i].compute_ms = static_cast<double>(1 << i);
  }
  return plan;
}

PointResult measured(std::size_t index, double over_baseline, double differ, bool confirmation = false) {
  const nlohmann::json common = {
      {"seconds", 1.0}, {"mib_per_second", 1.0}, {"spread", differ}, {"cpu_seconds", 1.0}, {"complete", true}};
  nlohmann::json blocking = common;
  blocking["speedup"] = over_baseline;
  blocking["speedup_spread"] = differ;
  blocking["over_baseline"] = over_baseline;
  PointResult result{index, confirmation, {}, {}};
  result.data = {{"point", plan_of_three().points[index]},
                 {"baseline", "standalone"},
                 {"variants", {{"standalone", common}, {"blocking", blocking}}}};
  return result;
}

TEST(Results, SurviveALineThatWasCutShort) {
  const Folder folder;
  const std::string path = folder.file("sweep");
  {
    ResultFolder results = ResultFolder::create(path, plan_of_three());
    EXPECT_THROW(ResultFolder::open(path), std::invalid_argument) << "one process at a time";
    results.add(measured(0, 1.5, 0.01));
    results.add({1, false, "it broke", {}});
  }
  EXPECT_THROW(ResultFolder::create(path, plan_of_three()), std::invalid_argument);
  std::ofstream(path + "/points.jsonl", std::ios::app) << R"({"index":2,"confirm)";
  {
    ResultFolder results = ResultFolder::open(path);
    ASSERT_EQ(results.results().size(), 2U);
    EXPECT_EQ(results.results()[1].error, "it broke");
    EXPECT_EQ(results.plan().points, plan_of_three().points);
    results.add(measured(2, 1.1, 0.01));
  }
  const ResultFolder results = ResultFolder::open(path);
  ASSERT_EQ(results.results().size(), 3U);
  EXPECT_EQ(results.results()[2].data, measured(2, 1.1, 0.01).data);
  std::ifstream table(path + "/points.csv");
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(table), {}, '\n'), 1 + 2 * 2)
      << "a head, two points, two variants";
}

TEST(Results, DamageInTheMiddleIsTold) {
  const Folder folder;
  const std::string path = folder.file("sweep");
  ResultFolder::create(path, plan_of_three());
  std::ofstream(path + "/points.jsonl", std::ios::app) << "{\"index\":7,\"confirmation\":false}\n";
  EXPECT_THROW(ResultFolder::open(path), std::invalid_argument);
  EXPECT_THROW(ResultFolder::open(folder.file("nothing")), std::invalid_argument);
}

TEST(Summary, ListsWhatIsSlowerBeyondTheSpreadAndTakesTheConfirmation) {
  const Folder folder;
  ResultFolder results = ResultFolder::create(folder.file("sweep"), plan_of_three());
  results.add(measured(0, 0.9, 0.02));
  results.add(measured(1, 0.9, 0.15));
  results.add(measured(2, 0.5, 0.01));
  results.add(measured(2, 1.7, 0.01, true));
  const nlohmann::json summary = summarise(results, {});
  ASSERT_EQ(summary.at("slower").size(), 1U);
  EXPECT_EQ(summary.at("slower")[0].at("point").at("compute_ms"), 1.0);
  EXPECT_EQ(summary.at("best").at("speedup"), 1.7);
  EXPECT_EQ(summary.at("measured_again"), 1U);
  EXPECT_NE(summary_text(summary).find("1 of 3"), std::string::npos);
}

TEST(Summary, JudgesAgainstTheFasterPlainVariant) {
  const Folder folder;
  ResultFolder results = ResultFolder::create(folder.file("sweep"), plan_of_three());
  PointResult result = measured(0, 1.4, 0.01);
  nlohmann::json& variants = result.data.at("variants");
  variants["threads"] = variants.at("standalone");
  variants["threads"]["speedup"] = 1.75;
  variants["threads"]["speedup_spread"] = 0.01;
  variants["blocking"]["over_baseline"] = 0.8;
  result.data["baseline"] = "threads";
  results.add(result);
  result.index = 1;
  result.data["variants"]["threads"]["spread"] = 0.3;
  results.add(result);
  const nlohmann::json summary = summarise(results, {});
  ASSERT_EQ(summary.at("slower").size(), 1U) << "where the threads' own runs differ by more, nothing is said";
  const nlohmann::json& slower = summary.at("slower")[0];
  EXPECT_EQ(slower.at("variant"), "blocking");
  EXPECT_EQ(slower.at("baseline"), "threads");
  EXPECT_EQ(slower.at("speedup"), 0.8);
  EXPECT_EQ(summary.at("comparisons"), 2U) << "the plain variants are no variants of Dovetail";
  EXPECT_EQ(summary.at("best").at("variant"), "blocking") << "threads are faster, and not Dovetail's";
  EXPECT_EQ(summary.at("speedup").at("threads").at("median"), 1.75);
  EXPECT_EQ(summary.at("over_baseline").at("blocking").at("worst"), 0.8);
  EXPECT_NE(summary_text(summary).find("than threads"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::tiom
