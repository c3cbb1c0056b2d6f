// Curves: what they say between their points, their text, and measuring a real folder.
#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "device/engine_probe.hpp"
#include "device/load.hpp"
#include "device/measure.hpp"
#include "support.hpp"

namespace dovetail::device {
namespace {

using test::Folder;

CurvePoint point(Direction direction, std::uint64_t block, unsigned depth, double rate) {
  CurvePoint made;
  made.direction = direction;
  made.block = block;
  made.depth = depth;
  made.engine = "uring";
  made.bytes_per_second = rate;
  made.operations_per_second = rate / static_cast<double>(block);
  made.steady = true;
  return made;
}

Curve known_curve() {
  Curve curve;
  curve.device.path = "/some \"where\"";
  curve.device.rotational = true;
  curve.device.throttle.write_bytes_per_second = 123456789012345;
  curve.engine = "auto";
  curve.notes = {"a note"};
  // Not in order, which must not matter.
  curve.points = {point(Direction::read, 65536, 4, 400e6), point(Direction::read, 4096, 16, 160e6),
                  point(Direction::read, 4096, 1, 10e6), point(Direction::read, 65536, 1, 100e6)};
  return curve;
}

TEST(CurveTest, IsExactAtItsPoints) {
  const Curve curve = known_curve();
  for (const CurvePoint& known : curve.points) {
    EXPECT_NEAR(curve.bytes_per_second(known.direction, known.block, known.depth), known.bytes_per_second, 1);
  }
}

TEST(CurveTest, IsStraightInLogarithmsBetweenThem) {
  const Curve curve = known_curve();
  // 10 MB/s at 1 and 160 MB/s at 16 lie on a line: ten times the depth.
  for (unsigned depth = 1; depth <= 16; ++depth) {
    EXPECT_NEAR(curve.bytes_per_second(Direction::read, 4096, depth), 10e6 * depth, 10) << "depth " << depth;
  }
  // Half way between the blocks in logarithms: the geometric mean of what both say.
  EXPECT_NEAR(curve.bytes_per_second(Direction::read, 16384, 1), std::sqrt(10e6 * 100e6), 1);
  EXPECT_NEAR(curve.bytes_per_second(Direction::read, 16384, 2), std::sqrt(20e6 * 200e6), 1);
}

TEST(CurveTest, IsLevelOutsideButShortRequestsTakeAsLongAsTheShortest) {
  const Curve curve = known_curve();
  EXPECT_NEAR(curve.bytes_per_second(Direction::read, 65536, 64), 400e6, 1);
  EXPECT_NEAR(curve.bytes_per_second(Direction::read, 1 << 23, 1), 100e6, 1);
  EXPECT_NEAR(curve.bytes_per_second(Direction::read, 1024, 1), 10e6 / 4, 1);
}

TEST(CurveTest, SecondsOfFewRequestsAreThoseOfTheirNumber) {
  const Curve curve = known_curve();
  EXPECT_DOUBLE_EQ(curve.seconds(Direction::read, 4096, 16, 0), 0);
  EXPECT_NEAR(curve.seconds(Direction::read, 4096, 16, 16 << 20), (16 << 20) / 160e6, 1e-6);
  EXPECT_NEAR(curve.seconds(Direction::read, 4096, 16, 2 * 4096), 2 * 4096 / 20e6, 1e-9);
  EXPECT_NEAR(curve.seconds(Direction::read, 65536, 16, 4096), 4096 / 10e6, 1e-9);
}

TEST(CurveTest, RefusesWhatItCannotSay) {
  const Curve curve = known_curve();
  EXPECT_FALSE(curve.has(Direction::write));
  EXPECT_THROW(curve.bytes_per_second(Direction::write, 4096, 1), std::out_of_range);
  EXPECT_THROW(curve.bytes_per_second(Direction::read, 0, 1), std::invalid_argument);
  EXPECT_THROW(curve.bytes_per_second(Direction::read, 4096, 0), std::invalid_argument);
  EXPECT_THROW(curve.seconds(Direction::read, 0, 1, 10), std::invalid_argument);
}

TEST(CurveTest, TheKneeIsTheLeastDepthWithNearlyAllOfTheLargestBlock) {
  Curve curve = known_curve();
  EXPECT_EQ(curve.knee(Direction::read)->depth, 4U);
  EXPECT_EQ(curve.knee(Direction::read)->block, 65536U);
  curve.points.push_back(point(Direction::read, 65536, 16, 415e6));
  EXPECT_EQ(curve.knee(Direction::read)->depth, 4U) << "less than 5 % more";
  curve.points.push_back(point(Direction::read, 65536, 8, 440e6));
  EXPECT_EQ(curve.knee(Direction::read)->depth, 8U);
  EXPECT_FALSE(curve.knee(Direction::write));
}

TEST(CurveTest, ComesBackFromItsText) {
  const Curve curve = known_curve();
  const Curve again = Curve::from_json(curve.to_json());
  EXPECT_EQ(again.to_json(), curve.to_json());
  EXPECT_EQ(again.device.path, curve.device.path);
  EXPECT_EQ(again.device.rotational, true);
  EXPECT_EQ(again.device.throttle.write_bytes_per_second, 123456789012345U);
  ASSERT_EQ(again.points.size(), 4U);
  EXPECT_EQ(again.points[1].depth, 16U);
  EXPECT_DOUBLE_EQ(again.points[1].bytes_per_second, 160e6);

  Folder folder;
  curve.save(folder / "curve.json");
  EXPECT_EQ(Curve::load(folder / "curve.json").to_json(), curve.to_json());
  EXPECT_THROW(Curve::load(folder / "none.json"), std::system_error);
  EXPECT_THROW(curve.save(folder / "none" + "/curve.json"), std::system_error);
}

TEST(CurveTest, RefusesOtherText) {
  std::string text = known_curve().to_json();
  EXPECT_THROW(Curve::from_json(""), std::invalid_argument);
  EXPECT_THROW(Curve::from_json("[]"), std::invalid_argument);
  EXPECT_THROW(Curve::from_json(text.substr(0, text.size() / 2)), std::invalid_argument);
  std::string other = text;
  other.replace(other.find("\"read\""), 6, "\"both\"");
  EXPECT_THROW(Curve::from_json(other), std::invalid_argument);
  other = text;
  other.replace(other.find("\"depth\": 4"), 10, "\"depth\": 0");
  EXPECT_THROW(Curve::from_json(other), std::invalid_argument);
  Folder folder;
  std::ofstream(folder / "bad.json") << "{";
  try {
    Curve::load(folder / "bad.json");
    FAIL() << "it was read";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("bad.json"), std::string::npos) << error.what();
  }
}

TEST(CurveTest, IsNeitherAPipeNorWrittenThroughALinkNorDeep) {
  Folder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(Curve::load(pipe), std::invalid_argument);

  const std::string link = folder / "link";
  std::ofstream(folder / "precious") << "data";
  ASSERT_EQ(symlink((folder / "precious").c_str(), link.c_str()), 0);
  known_curve().save(link);
  EXPECT_EQ(Curve::load(link).to_json(), known_curve().to_json());
  std::string text;
  std::getline(std::ifstream(folder / "precious") >> std::ws, text);
  EXPECT_EQ(text, "data") << "the link was followed";

  const std::string deep(1'000'000, '[');
  EXPECT_THROW(Curve::from_json("{\"format\": " + deep + std::string(1'000'000, ']') + "}"), std::invalid_argument);
  EXPECT_THROW(Curve::from_json(deep), std::invalid_argument);
}

// --- measuring ---

MeasureOptions quick() {
  MeasureOptions options;
  options.blocks = {4096, 65536};
  options.depths = {1, 4};
  options.point_limit = std::chrono::milliseconds(30);
  options.total_limit = std::chrono::milliseconds(5000);
  options.file_bytes = 2 << 20;
  return options;
}

std::set<std::string> entries(const std::string& path) {
  std::set<std::string> names;
  DIR* list = opendir(path.c_str());
  while (const dirent* entry = list != nullptr ? readdir(list) : nullptr) {
    names.insert(entry->d_name);
  }
  if (list != nullptr) {
    closedir(list);
  }
  return names;
}

class Measure : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(Measure, GivesEveryPointAndLeavesNothing) {
  const auto [engine, direct] = GetParam();
  Folder folder;
  const std::string path = folder / ".";
  for (const EngineProbe& probe : probe_engines()) {
    if (probe.name == engine && !probe.works) {
      GTEST_SKIP() << probe.why_not;
    }
  }
  if (direct && !facts_of(path).direct) {
    GTEST_SKIP() << "no direct transfers here";
  }
  const auto before = entries(path);
  MeasureOptions options = quick();
  // A machine that has other things to do must not leave a point without a window.
  options.point_limit = std::chrono::seconds(1);
  options.total_limit = std::chrono::minutes(2);
  options.engine = engine;
  options.direct = direct;
  std::set<std::string> seen;  // While it measures, too, no name is to be seen.
  unsigned last_done = 0;
  std::atomic<int> calls{0};
  options.progress = [&](const MeasureProgress& progress) {
    ++calls;
    EXPECT_GE(progress.done, last_done);
    EXPECT_EQ(progress.total % 4, 0U);
    last_done = progress.done;
    seen.merge(entries(path));
    return true;
  };
  const Curve curve = measure(path, options);
  EXPECT_EQ(curve.points.size(), 8U);
  EXPECT_TRUE(curve.complete);
  EXPECT_EQ(curve.direct, direct);
  EXPECT_GT(calls, 8);
  for (const CurvePoint& measured : curve.points) {
    EXPECT_GT(measured.bytes_per_second, 0);
    EXPECT_DOUBLE_EQ(measured.operations_per_second * static_cast<double>(measured.block), measured.bytes_per_second);
    EXPECT_GT(measured.latency_median, 0);
    EXPECT_LE(measured.latency_median, measured.latency_p99);
    if (std::string(engine) != "auto") {
      EXPECT_EQ(measured.engine, engine);
    }
  }
  EXPECT_EQ(entries(path), before);
  EXPECT_EQ(seen, before);
}

INSTANTIATE_TEST_SUITE_P(Engines, Measure,
                         testing::Combine(testing::Values("uring", "aio", "threads", "auto"), testing::Bool()),
                         [](const auto& chosen) {
                           return std::string(std::get<0>(chosen.param)) +
                                  (std::get<1>(chosen.param) ? "Direct" : "Buffered");
                         });

TEST(MeasureStops, WhenTheCallbackSaysSo) {
  Folder folder;
  MeasureOptions options = quick();
  options.progress = [](const MeasureProgress& progress) { return progress.done < 2; };
  const Curve curve = measure(folder / ".", options);
  EXPECT_EQ(curve.points.size(), 2U);
  EXPECT_FALSE(curve.complete);
  EXPECT_FALSE(curve.steady);
}

TEST(MeasureStops, AndPassesOnWhatTheCallbackThrows) {
  Folder folder;
  for (const char* engine : {"auto", "threads"}) {
    MeasureOptions options = quick();
    options.engine = engine;
    options.progress = [](const MeasureProgress& progress) -> bool {
      return progress.done == 1 ? throw std::domain_error("enough") : true;
    };
    EXPECT_THROW(measure(folder / ".", options), std::domain_error) << engine;
  }
}

// A device that others keep busy may take all the time for the file alone.
TEST(MeasureStops, NotBeforeEachDirectionHasAPoint) {
  Folder folder;
  MeasureOptions options = quick();
  options.point_limit = options.total_limit = std::chrono::milliseconds(20);
  options.progress = [end = std::chrono::steady_clock::now() + options.total_limit](const MeasureProgress& progress) {
    while (progress.block == 0 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    return true;
  };
  const Curve curve = measure(folder / ".", options);
  EXPECT_TRUE(curve.has(Direction::read));
  EXPECT_TRUE(curve.has(Direction::write));
  EXPECT_FALSE(curve.complete);
  EXPECT_EQ(std::count(curve.notes.begin(), curve.notes.end(), "The time was over before all points were measured."),
            1);
}

TEST(MeasureRefuses, OptionsThatMakeNoSense) {
  Folder folder;
  const auto refused = [&](auto change) {
    MeasureOptions options = quick();
    change(options);
    EXPECT_THROW(measure(folder / ".", options), std::invalid_argument);
  };
  refused([](MeasureOptions& options) { options.blocks = {}; });
  refused([](MeasureOptions& options) { options.blocks = {100}; });
  refused([](MeasureOptions& options) { options.blocks = {std::uint64_t{1} << 40}; });
  refused([](MeasureOptions& options) { options.depths = {0}; });
  refused([](MeasureOptions& options) { options.depths = {4, 100000}; });
  refused([](MeasureOptions& options) { options.directions = {}; });
  refused([](MeasureOptions& options) { options.engine = "steam"; });
  refused([](MeasureOptions& options) { options.point_limit = std::chrono::milliseconds(-1); });
  refused([](MeasureOptions& options) { options.total_limit = std::chrono::milliseconds(1); });
}

TEST(MeasureRefuses, PathsThatCannotBeMeasured) {
  Folder folder;
  try {
    measure(folder / "none", quick());
    FAIL() << "it was measured";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("none"), std::string::npos) << error.what();
  }
  EXPECT_THROW(measure("/dev/null", quick()), std::system_error);
  EXPECT_THROW(measure("/proc", quick()), std::system_error);
}

// The way to a result that is needed at once: to find the knee, the levels behind it need not be measured.
TEST(MeasureStops, BehindTheBestIfAskedTo) {
  Folder folder;
  MeasureOptions options = quick();
  options.blocks = {65536};
  options.depths = {1, 2, 4, 8, 16, 32, 64};
  options.total_limit = std::chrono::minutes(1);
  options.past_the_best = false;
  const Curve curve = measure(folder / ".", options);
  for (const Direction direction : directions) {
    double most = 0;
    double before = 0;
    for (const CurvePoint& measured : curve.points) {
      if (measured.direction == direction) {
        EXPECT_GE(before, 0.75 * most) << "depth " << measured.depth << " was measured behind one that was worse";
        before = measured.bytes_per_second;
        most = std::max(most, before);
      }
    }
    EXPECT_GT(most, 0);
  }
}

// Else a shallow queue would be measured with blocks that stay in a cache, and a deep one without.
TEST(MeasureLoad, GoesThroughAllOfItsMemoryHoweverFewAreUnderWay) {
  constexpr std::size_t block = 4096;
  constexpr std::size_t places = 8;
  std::vector<std::byte> memory(places * block + block / 2);
  const std::vector<std::uint32_t> order = {0, 1, 2};
  for (const unsigned depth : {1U, 2U, 4U}) {
    Load::Shape shape;
    shape.block = block;
    shape.depth = depth;
    shape.memory = memory.data();
    shape.memory_size = memory.size();
    shape.order = &order;
    shape.limit = 3 * places;
    Load load(shape, [](std::uint64_t, Load::Clock::time_point) { return true; });
    std::map<std::ptrdiff_t, unsigned> used;
    std::vector<Load::Slot*> going;
    for (auto& slot : load.slots()) {
      ASSERT_TRUE(load.begin(slot));
      going.push_back(&slot);
    }
    while (!going.empty()) {
      Load::Slot& slot = *going.front();
      going.erase(going.begin());
      ++used[slot.transfer.data - memory.data()];
      for (const auto* other : going) {
        EXPECT_NE(other->transfer.data, slot.transfer.data) << "two requests under way share memory";
      }
      slot.transfer.remaining = 0;
      if (load.ended(slot) && load.begin(slot)) {
        going.push_back(&slot);
      }
    }
    EXPECT_EQ(used.size(), places) << "depth " << depth;
    for (const auto& [offset, times] : used) {
      EXPECT_EQ(offset % static_cast<std::ptrdiff_t>(block), 0);
      EXPECT_LE(offset, static_cast<std::ptrdiff_t>((places - 1) * block));
      EXPECT_EQ(times, 3U) << "offset " << offset << ", depth " << depth;
    }
  }
}

TEST(MeasureLoad, ARequestThatTakesLongKeepsItsMemory) {
  constexpr std::size_t block = 4096;
  std::vector<std::byte> memory(8 * block);
  const std::vector<std::uint32_t> order = {0};
  Load::Shape shape;
  shape.block = block;
  shape.depth = 3;
  shape.memory = memory.data();
  shape.memory_size = memory.size();
  shape.order = &order;
  Load load(shape, [](std::uint64_t, Load::Clock::time_point) { return true; });
  auto& slots = load.slots();
  for (auto& slot : slots) {
    ASSERT_TRUE(load.begin(slot));
  }
  for (int turn = 0; turn < 20; ++turn) {
    auto& ending = slots[1 + turn % 2];
    ending.transfer.remaining = 0;
    ASSERT_TRUE(load.ended(ending) && load.begin(ending));
    EXPECT_NE(slots[0].transfer.data, ending.transfer.data);
    EXPECT_NE(slots[1].transfer.data, slots[2].transfer.data);
  }
}

// The file of the user that stands for its folder is not touched.
TEST(MeasureRefuses, ToTouchTheFileThatWasNamed) {
  Folder folder;
  std::ofstream(folder / "precious") << "data";
  MeasureOptions options = quick();
  options.blocks = {4096};
  EXPECT_EQ(measure(folder / "precious", options).points.size(), 4U);
  std::ifstream file(folder / "precious");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "data");
}

TEST(MeasureFits, IntoALimitOfFileSizes) {
  Folder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100 * 1024, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  MeasureOptions options = quick();
  options.blocks = {4096, 65536, 1 << 20};
  const Curve curve = measure(folder / ".", options);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_LE(curve.file_bytes, 100U * 1024);
  EXPECT_FALSE(curve.complete);
  EXPECT_EQ(curve.points.size(), 8U);
  ASSERT_FALSE(curve.notes.empty());
  EXPECT_NE(curve.notes.front().find("1 MiB"), std::string::npos) << curve.notes.front();
}

}  // namespace
}  // namespace dovetail::device
