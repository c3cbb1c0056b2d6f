// The parts of dovetail-tiom that decide what its numbers mean.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "budget.hpp"
#include "calibration.hpp"
#include "folder.hpp"
#include "model.hpp"
#include "options.hpp"
#include "other_programs.hpp"
#include "plan.hpp"
#include "run.hpp"
#include "statistics.hpp"
#include "summary.hpp"
#include "test_file.hpp"
#include "text.hpp"

namespace dovetail::tiom {
namespace {

using namespace device;

TEST(Text, SizesAreReadAndWritten) {
  EXPECT_EQ(parse_size("4096"), 4096U);
  EXPECT_EQ(parse_size("4K"), 4096U);
  EXPECT_EQ(parse_size("8MiB"), 8U << 20);
  EXPECT_EQ(size_text(131072), "128K");
  EXPECT_EQ(size_text(5000), "5000");
  for (const char* bad : {"", "K", "-1", "4Q", "4 K", "1.5M", "99999999999999999999", "99999999999G", "0x10"}) {
    EXPECT_THROW(parse_size(bad), std::invalid_argument) << bad;
  }
}

TEST(Text, ListsAndRangesAreExpanded) {
  EXPECT_EQ(parse_sizes("4K-32K"), (std::vector<std::uint64_t>{4096, 8192, 16384, 32768}));
  EXPECT_EQ(parse_sizes("4K,1M"), (std::vector<std::uint64_t>{4096, 1048576}));
  EXPECT_EQ(parse_numbers("1-8"), (std::vector<double>{1, 2, 4, 8}));
  EXPECT_EQ(parse_numbers("0"), (std::vector<double>{0}));
  EXPECT_EQ(parse_series("3,2x", 4), (std::vector<std::uint64_t>{3, 8}));
  for (const char* bad : {"", ",", "4,", "8-4", "0-8", "1-nan", "inf", "1e400", "-3"}) {
    EXPECT_THROW(parse_numbers(bad), std::invalid_argument) << bad;
  }
  for (const char* bad : {"0", "x", "0x", "2xx", "1000001", "-1"}) {
    EXPECT_THROW(parse_series(bad, 4), std::invalid_argument) << bad;
  }
}

TEST(Statistics, MedianAndSpread) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(spread({9, 10, 11}), 0.1);
  EXPECT_DOUBLE_EQ(spread({5}), 0);
}

// Three other threads for each core: a calibration by wall time would take the cores for a quarter as fast.
TEST(Calibration, NoticesThatOthersUseTheCores) {
  std::atomic<bool> ended{false};
  std::latch spinning(3 * std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  for (unsigned i = 0; i < 3 * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&] {
      spinning.count_down();
      while (!ended.load(std::memory_order_relaxed)) {
        compute(1000);
      }
    });
  }
  spinning.wait();
  const Calibration calibration = calibrate(1000);
  testing::internal::CaptureStderr();
  EXPECT_GT(calibrate_and_tell(1000), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  ended = true;
  EXPECT_LT(calibration.share, least_share);
  EXPECT_GT(calibration.iterations_per_ms, 0);
  EXPECT_NE(said.find("this machine is busy"), std::string::npos) << said;
}

TEST(Doubts, AreToldWithTheTableAndCountedInTheSummary) {
  nlohmann::json result = {{"variants", {{"blocking", {{"efficiency", 0.95}}}}}, {"others_share", 0.01}};
  EXPECT_EQ(doubts_of(result), "");
  result["others_share"] = 0.4;
  EXPECT_NE(doubts_of(result).find("40 % of the cores"), std::string::npos);
  result["others_share"] = 0;
  result["variants"]["blocking"]["efficiency"] = 1.23;
  EXPECT_NE(doubts_of(result).find("blocking has an efficiency of 1.23"), std::string::npos);
  result["variants"]["blocking"].erase("efficiency");
  EXPECT_EQ(doubts_of(result), "") << "without a model there is none";
}

TEST(Plan, EachPassVisitsEveryBlockOnceInTheOrderOfThePattern) {
  Point point;
  point.block = 4096;
  point.operations = 48;
  for (const Pattern pattern : {Pattern::sequential_write, Pattern::random_write}) {
    point.pattern = pattern;
    const Plan plan(point, 16 * 4096 + 100, 7);
    for (std::uint64_t pass = 0; pass < 3; ++pass) {
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < 16; ++i) {
        const std::uint64_t offset = plan.offset(pass * 16 + i);
        EXPECT_TRUE(is_random(pattern) || offset == i * 4096);
        seen.insert(offset);
      }
      EXPECT_EQ(seen.size(), 16U);
      EXPECT_LE(*seen.rbegin(), 15U * 4096);
    }
    EXPECT_EQ(plan.offset(5), Plan(point, 16 * 4096, 7).offset(5)) << "the same seed is the same order";
  }
  point.mode = Mode::fjio;
  point.operations = 10;
  EXPECT_EQ(Plan(point, 16 * 4096, 7).rounds(), 3U);
}

Curve straight_curve(double bytes_per_second_each, unsigned saturates_at) {
  Curve curve;
  for (const unsigned depth : {1U, 2U, 4U, 8U, 16U}) {
    const double rate = bytes_per_second_each * std::min(depth, saturates_at);
    for (const Direction direction : {Direction::read, Direction::write}) {
      CurvePoint point;
      point.direction = direction;
      point.block = 4096;
      point.depth = depth;
      point.bytes_per_second = rate;
      point.operations_per_second = rate / 4096;
      curve.points.push_back(point);
    }
  }
  return curve;
}

// One transfer takes 10 ms alone, four at once take no longer, more than four wait.
const Curve ten_ms = straight_curve(409600, 4);

TEST(Model, ASingleSeriesOverlapsNothing) {
  const Point point{Mode::mix, Pattern::random_write, 4096, 5, 1, 10};
  const Bound bound = bound_of(point, {10, 10}, 2, speed_of(ten_ms, point));
  EXPECT_NEAR(bound.seconds, 10 * 0.015, 1e-6);
  EXPECT_EQ(bound.limit, "series");
  EXPECT_NEAR(bound.plain, 10 * 0.010, 1e-6);
}

TEST(Model, ManySeriesAreBoundByCoresOrDevice) {
  Point point{Mode::mix, Pattern::random_read, 4096, 20, 64, 6400};
  Bound bound = bound_of(point, {6400, 6400}, 2, speed_of(ten_ms, point));
  EXPECT_NEAR(bound.seconds, 6400 * 0.020 / 2 + 0.010, 1e-6) << "the last transfer follows the last computation";
  EXPECT_EQ(bound.limit, "compute");
  point.compute_ms = 1;
  bound = bound_of(point, {6400, 6400}, 2, speed_of(ten_ms, point));
  EXPECT_NEAR(bound.seconds, 0.001 + 6400 / 400.0, 1e-4) << "the first transfer follows the first computation";
  EXPECT_EQ(bound.limit, "device");
}

TEST(Model, ASeriesThatComputesTransfersNothing) {
  // Three series, of which one computes half of the time: 2.5 transfers under way, not 3.
  const Point point{Mode::mix, Pattern::random_read, 4096, 2, 3, 30000};
  const Bound bound = bound_of(point, {30000, 30000}, 4, speed_of(ten_ms, point));
  EXPECT_NEAR(bound.seconds, 30000.0 / 3 * 0.012, 0.05);
  EXPECT_LT(bound.plain, bound.seconds * 0.9);
  EXPECT_NEAR(bound.depth, 2.5, 0.01);
}

TEST(Model, ForksCountPerPhase) {
  // fjio: one series, each round 5 ms of computation and four transfers side by side.
  const Point fjio{Mode::fjio, Pattern::random_write, 4096, 5, 1, 40};
  EXPECT_NEAR(bound_of(fjio, {40, 10}, 2, speed_of(ten_ms, fjio)).seconds, 10 * (0.005 + 0.010), 1e-6);
  // fjc: four computations on two cores take two turns, then one transfer.
  const Point fjc{Mode::fjc, Pattern::random_write, 4096, 5, 1, 10};
  EXPECT_NEAR(bound_of(fjc, {10, 40}, 2, speed_of(ten_ms, fjc)).seconds, 10 * (2 * 0.005 + 0.010), 1e-6);
}

TEST(Model, InMemoryATransferOccupiesACore) {
  Curve curve = ten_ms;
  curve.device.in_memory = true;
  const Point point{Mode::mix, Pattern::random_write, 4096, 5, 8, 100};
  EXPECT_NEAR(bound_of(point, {100, 100}, 2, speed_of(curve, point)).seconds, 100 * 0.015 / 2, 1e-6);
}

TEST(Model, ABurstIsNotTakenForTheSpeedOfAThrottledDevice) {
  Curve curve = ten_ms;
  curve.device.throttle.write_bytes_per_second = 819200;
  const Point point{Mode::mix, Pattern::random_write, 4096, 0, 64, 6400};
  EXPECT_NEAR(bound_of(point, {6400, 6400}, 2, speed_of(curve, point)).seconds, 6400 / 200.0, 1e-3);
  const Point reading{Mode::mix, Pattern::random_read, 4096, 0, 64, 6400};
  EXPECT_NEAR(bound_of(reading, {6400, 6400}, 2, speed_of(curve, reading)).seconds, 6400 / 400.0, 1e-3);
}

TEST(Model, NoWorkTakesNoTime) {
  const Point point{};
  EXPECT_EQ(bound_of(point, {0, 0}, 2, speed_of(ten_ms, {Mode::mix, Pattern::random_read, 4096, 1, 1, 1})).seconds, 0);
}

TEST(Budget, SharesTheTimeAndKeepsALeastAmountOfWork) {
  Settings settings;
  settings.workers = 2;
  settings.rounds = 2;
  settings.variants = {Variant::standalone, Variant::blocking};
  Curves curves;
  curves.random = SavedCurve{ten_ms, ""};
  std::vector<Point> points = {{Mode::mix, Pattern::random_write, 4096, 1, 4, 0},
                               {Mode::fjio, Pattern::random_write, 4096, 64, 4, 0}};
  const double expected = share_budget(settings, curves, 100, points);
  EXPECT_NEAR(expected, 100, 5);
  for (const Point& point : points) {
    EXPECT_GE(point.operations, 4 * point.series * transfers_per_round(point.mode));
  }
  EXPECT_GT(share_budget(settings, curves, 0.001, points), 0.001) << "it says when it does not fit";
  EXPECT_EQ(points[0].operations, 4U) << "one round of every series is left";
}

TEST(TestFile, WhatWasWrittenIsToldFromWhatWasPrepared) {
  const Folder folder;
  Settings settings;
  settings.file = folder.file("data");
  settings.size = 8 * page_bytes;
  settings.verify = true;
  prepare_file(settings);
  EXPECT_EQ(count_wrong_blocks(settings, page_bytes, std::vector<bool>(8, false)), 0U);
  std::vector<bool> written(8, false);
  written[3] = true;
  EXPECT_EQ(count_wrong_blocks(settings, page_bytes, written), 1U);
  std::vector<std::byte> page(page_bytes);
  fill(page, 3 * page_bytes, Content::written);
  std::fstream stream(settings.file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(3 * page_bytes);
  stream.write(reinterpret_cast<const char*>(page.data()), page_bytes);
  stream.close();
  EXPECT_EQ(count_wrong_blocks(settings, page_bytes, written), 0U);
  EXPECT_EQ(count_wrong_blocks(settings, page_bytes, std::vector<bool>(8, false)), 1U);
}

TEST(TestFile, SomebodyElsesFileIsRefused) {
  const Folder folder;
  Settings settings;
  settings.file = folder.file("letters");
  settings.size = 4 * page_bytes;
  std::ofstream(settings.file) << "to my grandmother";
  EXPECT_THROW(prepare_file(settings), std::invalid_argument);
  EXPECT_EQ(std::filesystem::file_size(settings.file), 17U);
  settings.overwrite = true;
  prepare_file(settings);
  EXPECT_EQ(std::filesystem::file_size(settings.file), 4 * page_bytes);
}

TEST(RunState, BytesThatNeverArriveAreNoticed) {
  const Folder folder;
  Settings settings;
  settings.file = folder.file("data");
  settings.size = 4 * page_bytes;
  settings.direct = false;
  settings.verify = true;
  prepare_file(settings);
  const Point point{Mode::mix, Pattern::sequential_read, page_bytes, 0, 1, 4};
  const Plan plan(point, settings.size, 1);
  RunState state(settings, point, plan);
  state.start();
  const auto buffer = state.buffer_for(0, 0);
  fill(buffer, 0, Content::prepared);
  *state.transferred(0) = page_bytes;
  state.buffer_for(1, 0);
  *state.transferred(1) = page_bytes;
  const RunResult result = state.finish();
  EXPECT_EQ(result.operations, 2U);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.wrong_blocks, 1U) << "the second transfer put nothing into its buffer";
}

// The curve of the device is measured so. A cache would hold a few buffers that a run used again and again, and the run could
// be faster than its bound.
TEST(RunState, ARunGoesThroughItsMemoryAndNeverSharesIt) {
  const Folder folder;
  Settings settings;
  settings.file = folder.file("data");
  settings.size = 35 * page_bytes;
  settings.direct = false;
  prepare_file(settings);
  const std::uint64_t series = 2;
  const std::uint64_t slots = series * fork_width;
  const Point point{Mode::fjio, Pattern::sequential_write, page_bytes, 0, series, 6 * slots};
  const Plan plan(point, settings.size, 1);
  RunState state(settings, point, plan);
  std::set<const std::byte*> seen;
  std::vector<const std::byte*> turn;
  std::vector<const std::byte*> turn_before;
  for (std::uint64_t operation = 0; operation < plan.operations(); ++operation) {
    const auto buffer = state.buffer_for(operation, operation % slots);
    EXPECT_EQ(buffer.size(), page_bytes);
    seen.insert(buffer.data());
    turn.push_back(buffer.data());
    if (turn.size() == slots) {
      // While one series transfers in this turn, the other may be in the turn before.
      std::set<const std::byte*> together(turn.begin(), turn.end());
      together.insert(turn_before.begin(), turn_before.end());
      EXPECT_EQ(together.size(), turn.size() + turn_before.size()) << "operation " << operation;
      turn_before = std::exchange(turn, {});
    }
  }
  EXPECT_EQ(seen.size(), 4 * slots) << "whole turns in as much memory as the file has bytes";
  EXPECT_EQ(static_cast<std::uint64_t>(*seen.rbegin() - *seen.begin()), (4 * slots - 1) * page_bytes);
}

TEST(RunState, WithLittleMemoryEachTransferOfATurnStillHasItsOwn) {
  const Folder folder;
  Settings settings;
  settings.file = folder.file("data");
  settings.size = 2 * page_bytes;
  settings.direct = false;
  prepare_file(settings);
  const Point point{Mode::mix, Pattern::random_read, page_bytes, 0, 5, 20};
  const Plan plan(point, settings.size, 1);
  RunState state(settings, point, plan);
  std::set<const std::byte*> seen;
  for (std::uint64_t operation = 0; operation < plan.operations(); ++operation) {
    seen.insert(state.buffer_for(operation, operation % 5).data());
  }
  EXPECT_EQ(seen.size(), 5U);
}

TEST(Options, NonsenseIsRefusedByName) {
  const auto refuses = [](std::vector<std::string> arguments, const std::string& word) {
    try {
      static_cast<void>(parse_command(arguments));
      ADD_FAILURE() << "accepted: " << arguments.back();
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  refuses({}, "--file");
  refuses({"--file", "f", "--mode", "mixed"}, "mix, 1to1, fjio, fjc");
  refuses({"--file", "f", "--block", "1K"}, "--block");
  refuses({"--file", "f", "--block", "8M", "--size", "4M"}, "--size");
  refuses({"--file", "f", "--block", "4K,8K"}, "--sweep");
  refuses({"--file", "f", "--time-limit", "0"}, "--time-limit");
  refuses({"--file", "f", "--compute", "nan"}, "--compute");
  refuses({"--file", "f", "--rounds", "0"}, "--rounds");
  refuses({"--file", "f", "--engine", "steam"}, "steam");
  refuses({"--file", "f", "--variant", "blocking,blocking"}, "twice");
  refuses({"--file", "f", "--direct", "--buffered"}, "--buffered");
  refuses({"--file", "f", "--sweep"}, "--output");
  refuses({"--file", "f", "--output", "d"}, "--sweep");
  refuses({"--file", "f", "--budget", "5"}, "--sweep");
  refuses({"--resume", "d", "--rounds", "2"}, "--rounds");
  refuses({"--file", "f", "--unknown"}, "--unknown");
  const auto command = parse_command({"--file", "f", "--sweep", "--output", "d", "--workers", "2"});
  ASSERT_TRUE(command);
  EXPECT_EQ(points_of(command->grid, 0).size(), 2U * 2 * 2 * 12 * 8) << "the paper's grid";
}

TEST(Options, AnythingIsUnderstoodOrRefused) {
  const char* const given = std::getenv("DOVETAIL_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("seed %llu (DOVETAIL_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> names = {
      "--mode",     "--variant",     "--pattern",    "--block",   "--compute",   "--series",   "--size",
      "--file",     "--operations",  "--time-limit", "--rounds",  "--direct",    "--buffered", "--engine",
      "--workers",  "--calibration", "--seed",       "--verify",  "--overwrite", "--sweep",    "--output",
      "--resume",   "--budget",      "--noise",      "--confirm", "--no-plots",  "--curve",    "--curve-time",
      "--no-model", "--json",        "--",           "-x"};
  const std::vector<std::string> words = {"mix", "1to1,fjc", "rw",    "sr,sw", "4K",
                                          "8M",  "4K-8M",    "1-128", "2x",    "64M",
                                          "0",   "-1",       "1e308", "nan",   "18446744073709551615",
                                          ",",   "",         "auto",  "f"};
  const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  const int rounds = std::getenv("DOVETAIL_TEST_SCALE") != nullptr ? 200 : 1500;
  int understood = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::string> arguments = {"--file", "f"};
    for (std::uint64_t count = random() % 6; count > 0; --count) {
      arguments.push_back(pick(names));
      if (random() % 3 != 0) {
        std::string word = pick(words);
        if (random() % 4 == 0) {
          word.insert(random() % (word.size() + 1), 1, static_cast<char>(random() % 255 + 1));
        }
        arguments.push_back(word);
      }
    }
    try {
      const auto command = parse_command(arguments);
      if (command && command->resume.empty()) {
        ++understood;
        // What was understood must be possible.
        ASSERT_FALSE(points_of(command->grid, command->operations).empty());
        for (const Point& point : points_of(command->grid, command->operations)) {
          ASSERT_TRUE(point.block >= page_bytes && point.block <= command->settings.size && point.series >= 1);
        }
      }
    } catch (const UsageError& error) {
      ASSERT_NE(std::string(error.what()), "");
    }
  }
  EXPECT_GT(understood, 0);
}

}  // namespace
}  // namespace dovetail::tiom
