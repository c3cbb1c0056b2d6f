// Regions in spaces of the program's own: ordered as those of memory are, and named in reports of what waits for what.
#include "dovetail/space.hpp"

#include <algorithm>
#include <cstdlib>

#include "support.hpp"
#include "trace/recorder.hpp"
#include "trace/timeline.hpp"

namespace dovetail::test {
namespace {

using namespace std::chrono_literals;

template <class T>
concept UsableWhole = requires(T& thing) { in(thing); };
static_assert(!UsableWhole<Space> && !UsableWhole<File> && UsableWhole<int>, "a space is used by region");

TEST(SpaceTest, TasksOnOneRegionRunInOrder) {
  Runtime runtime(Options{.workers = 3});
  const Space space = Space::make("rank 3");
  EXPECT_EQ(space.name(), "rank 3");
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {
    runtime.spawn({.access = {inout(space, 16, 8)}}, [&, i] { order.push_back(i); });
  }
  runtime.wait();
  std::vector<int> expected(200);
  for (int i = 0; i < 200; ++i) {
    expected[static_cast<std::size_t>(i)] = i;
  }
  EXPECT_EQ(order, expected);
}

// Held by one task, which goes on when all others that do not conflict with it have run.
TEST(SpaceTest, OnlyRegionsOfOneSpaceThatOverlapAreOrdered) {
  Runtime runtime(Options{.workers = 1});
  const Space space = Space::make("window");
  const Space copy = space;
  const Space other = Space::make("window");
  EXPECT_NE(space.number(), other.number());
  EXPECT_EQ(space.number(), copy.number());
  int memory = 0;
  Latch others(4);
  runtime.spawn({.access = {out(space, 0, 8)}}, [&] { others.wait(); });
  bool conflicting_ran = false;
  const auto conflicting = runtime.spawn({.access = {in(copy, 7, 1)}}, [&] { conflicting_ran = true; });
  const auto free = [&] {
    EXPECT_FALSE(conflicting_ran);
    others.count_down();
  };
  runtime.spawn({.access = {out(space, 8, 8)}}, free);
  runtime.spawn({.access = {out(other, 0, 8)}}, free);
  runtime.spawn({.access = {out(memory), out(Region{0, 0, 8})}}, free);
  runtime.spawn({.access = {commutative(space, 0, 0)}}, free);
  conflicting.get();
  runtime.wait();
  EXPECT_TRUE(conflicting_ran);
}

TEST(SpaceTest, NoSpaceIsRefused) {
  EXPECT_FALSE(Space());
  EXPECT_THROW(Space().number(), std::logic_error);
  EXPECT_THROW(Space().name(), std::logic_error);
  EXPECT_THROW(in(Space(), 0, 1), std::logic_error);
  EXPECT_TRUE(Space::make(""));
}

TEST(SpaceTest, AReportNamesWhatATaskWaitsFor) {
  Runtime runtime(Options{.workers = 1, .stuck_after = 50ms});
  const std::string other_name = "a name that is longer than what a string keeps in itself";
  testing::internal::CaptureStderr();
  {
    const Space rank = Space::make("rank 3");
    int memory = 0;
    runtime.spawn({.label = "put", .access = {in(memory), out(rank, 0, 8)}}, [] { this_task::suspend(); });
    runtime.spawn({.label = "get", .access = {in(rank, 4, 4), inout(Space::make(other_name), 1, 2), out(memory)}},
                  [] {});
  }  // the names were kept with the tasks
  EXPECT_THROW(runtime.wait(), Stuck);
  try {
    runtime.wait();
  } catch (const TaskFailed&) {
  }
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_NE(report.find("task 'get' (in 'rank 3' [4, 8), inout '" + other_name +
                        "' [1, 3)) waits for task 'put' (out 'rank 3' [0, 8))"),
            std::string::npos)
      << report;
  EXPECT_NE(report.find("task 'put' (out 'rank 3' [0, 8)) is suspended"), std::string::npos) << report;
}

TEST(SpaceTest, ANumberThatIsNoSpacesHasNoName) {
  Runtime runtime(Options{.workers = 1});
  const std::uint64_t made = Space::make("gone").number();
  const Future<void> future = runtime.spawn({.label = "task", .access = {out(Region{made, 0, 8})}}, [] {});
  future.get();
  const std::uint64_t next = Space::make("another").number();
  EXPECT_NE(made, next) << "numbers are not used again";
}

struct Accesses final : trace::TimelineVisitor {
  explicit Accesses(const trace::Recording& of) : recording(of) {}
  void slice(const trace::Slice& slice) override {
    for (const trace::NamedAccess& access : slice.accesses) {
      std::string text(trace::name_at(recording.operations, access.mode));
      text.append(" ").append(trace::name_at(recording.names, access.space));
      text.append(" ").append(std::to_string(access.begin)).append(" ").append(std::to_string(access.length));
      found.push_back(text);
    }
  }
  const trace::Recording& recording;
  std::vector<std::string> found;
};

TEST(SpaceTest, ARecordingHasTheRegionsWithTheFirstSlice) {
  trace::start();
  {
    Runtime runtime(Options{.workers = 1});
    const Space rank = Space::make("rank 3");
    int memory = 0;
    runtime.spawn({.access = {in(rank, 4, 8), out(memory), commutative(rank, 100, 1)}}, [] { this_task::yield(); });
    runtime.spawn({.access = {out(memory)}}, [] {});
  }
  trace::stop();
  const trace::Recording recording = trace::Recorder::instance().copy();
  Accesses accesses(recording);
  trace::replay(recording, accesses);
  EXPECT_EQ(accesses.found, (std::vector<std::string>{"in rank 3 4 8", "commutative rank 3 100 1"}));
}

TEST(SpaceTest, ARecordingHasAllRegionsWhereTheyAreAskedFor) {
  ::setenv("DOVETAIL_TRACE_ACCESSES", "1", 1);
  trace::start();
  ::unsetenv("DOVETAIL_TRACE_ACCESSES");
  int memory = 0;
  {
    Runtime runtime(Options{.workers = 1});
    const Space rank = Space::make("rank 3");
    runtime.spawn({.access = {in(rank, 4, 8), inout(memory), in(Region{0x1f, 16, 8}), in(Region{0, 5, 0})}}, [] {});
  }
  trace::stop();
  const trace::Recording recording = trace::Recorder::instance().copy();
  Accesses accesses(recording);
  trace::replay(recording, accesses);
  const std::string place = std::to_string(reinterpret_cast<std::uintptr_t>(&memory));
  std::ranges::sort(accesses.found);
  EXPECT_EQ(accesses.found,
            (std::vector<std::string>{"in file 1f 16 8", "in rank 3 4 8", "inout memory " + place + " 4"}));
}

// Random regions of two spaces: a task that writes a unit is alone on it, and each reader sees the last writer before
// it.
TEST(SpaceRandomTest, EachUnitIsOneOfALoop) {
  for (std::uint64_t round = 0; round < scaled(20, 4); ++round) {
    Random random(round);
    constexpr std::uint64_t units = 24;
    const std::array<Space, 2> spaces{Space::make("a"), Space::make("b")};
    std::array<std::array<std::size_t, units>, 2> last{};
    std::array<std::array<std::size_t, units>, 2> expected{};
    std::atomic<std::size_t> wrong{0};
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
    for (std::size_t task = 1; task <= scaled(1000, 200); ++task) {
      std::vector<Access> accesses;
      std::vector<std::function<void()>> body;
      for (std::size_t k = 0; k < 2; ++k) {
        const std::uint64_t begin = random.between(0, units - 1);
        const std::uint64_t length = random.between(1, units - begin);
        const bool writes = random.once_in(2);
        accesses.push_back(writes ? inout(spaces[k], begin, length) : in(spaces[k], begin, length));
        for (std::uint64_t unit = begin; unit < begin + length; ++unit) {
          const std::size_t before = expected[k][unit];
          if (writes) {
            expected[k][unit] = task;
          }
          body.emplace_back([&last, &wrong, k, unit, before, task, writes] {
            wrong.fetch_add(last[k][unit] == before ? 0 : 1);
            if (writes) {
              last[k][unit] = task;
            }
          });
        }
      }
      runtime.spawn({.access = std::span<const Access>(accesses)}, [body] {
        for (const auto& step : body) {
          step();
        }
      });
    }
    runtime.wait();
    EXPECT_EQ(wrong.load(), 0U);
    EXPECT_EQ(last, expected);
  }
}

}  // namespace
}  // namespace dovetail::test
