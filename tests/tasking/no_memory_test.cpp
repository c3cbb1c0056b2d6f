// Each allocation of a spawn fails once: the call says so, and nothing else is lost.
#include <cstdlib>
#include <new>

#include "support.hpp"
#include "tasking/core.hpp"
#include "tasking/quiet.hpp"
#include "tasking/upkeep.hpp"

namespace {
// Of the calling thread: allocations until one fails, once; negative: none does.
thread_local long until_failure = -1;

void* allocate(std::size_t size, std::size_t alignment) {
  if (until_failure >= 0 && until_failure-- == 0) {
    throw std::bad_alloc();
  }
  void* const made = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  return made != nullptr ? made : throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }

namespace dovetail::test {
namespace {

constexpr std::size_t cells = 24;

// The users of each cell: readers are counted, a writer is a large number.
class Cells {
 public:
  static constexpr int writer = 1000;
  // False: another task is there that should not be.
  bool enter(const Region& region, int as) { return change(region, as, as == writer ? 0 : writer - 1); }
  void leave(const Region& region, int as) { change(region, -as, 0); }

 private:
  bool change(const Region& region, int by, int most_before) {
    bool right = true;
    for (std::uint64_t i = region.begin; i < region.begin + region.length; ++i) {
      const int before = users_[i].fetch_add(by);
      right = right && (by < 0 || before <= most_before);
    }
    return right;
  }
  std::array<std::atomic<int>, cells> users_{};
};

struct Result {
  long allocations = 0;
  int refused = 0;
  int spawned = 0;
  int ended = 0;
};

// Spawns tasks with random accesses to a space and lets the allocation of that number fail; negative: none.
Result spawn_tasks(std::uint64_t stream, bool general, long failing) {
  constexpr int tasks = 40;
  Random random(stream);
  Runtime runtime(Options{.workers = 2});
  static const Space space = Space::make("cells");  // each one made is kept for ever
  Cells used;
  std::atomic<int> wrong{0};
  Result result;
  std::vector<Future<void>> futures;
  futures.reserve(tasks);
  for (int i = 0; i < tasks; ++i) {
    std::vector<Access> accesses;
    std::vector<std::pair<Region, int>> uses;
    for (std::uint64_t k = random.once_in(5) ? 20 : random.between(1, 6); k > 0; --k) {  // 20: too many for a pool
      const std::uint64_t length = general ? random.between(1, 8) : 4;
      const std::uint64_t begin = general ? random.between(0, cells - length) : 4 * random.between(0, cells / 4 - 1);
      const Region region{space.number(), begin, length};
      const auto mode = static_cast<AccessMode>(random.between(0, 3));
      accesses.push_back({region, mode});
      uses.emplace_back(region, mode == AccessMode::in ? 1 : Cells::writer);
    }
    // Of what a task names twice only the first use is checked.
    for (std::size_t a = 0; a < uses.size(); ++a) {
      for (std::size_t b = a + 1; b < uses.size();) {
        const Region& one = uses[a].first;
        const Region& other = uses[b].first;
        if (one.begin < other.begin + other.length && other.begin < one.begin + one.length) {
          uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(b));
        } else {
          ++b;
        }
      }
    }
    const auto body = [&used, &wrong, uses] {
      for (const auto& [region, as] : uses) {
        wrong += used.enter(region, as) ? 0 : 1;
      }
      this_task::yield();
      for (const auto& [region, as] : uses) {
        used.leave(region, as);
      }
    };
    const TaskDescription description{.access = AccessList(std::span<const Access>(accesses))};
    try {
      until_failure = failing;
      futures.push_back(runtime.spawn(description, body));
      ++result.spawned;
    } catch (const std::bad_alloc&) {
      ++result.refused;
    }
    result.allocations += failing < 0 ? 0 : failing - until_failure;
    failing = std::exchange(until_failure, -1);
  }
  for (const Future<void>& future : futures) {
    future.wait();
    ++result.ended;
  }
  runtime.wait();
  EXPECT_EQ(wrong.load(), 0) << "tasks ran beside each other that must not";
  return result;
}

// The thread that looks keeps the time of all: it may not end for want of memory.
TEST(NoMemoryTest, AReportThatFindsNoneIsMadeLater) {
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::hours(1)});
  PollingService service(runtime, "messages", {}, [] { return std::size_t{0}; });
  PendingOperation operation = service.expect("a message with a text that no string holds in itself");
  auto task = runtime.spawn({.label = "receiver"}, [&] { operation.wait(); });
  detail::RuntimeCore& core = runtime.core();
  const tasking::ForeignWaits::Stay stay(core.foreign);
  await([&] { return tasking::somebody_waits(core); });
  const auto look = [&] { return tasking::duties_of_reactor().look(core, tasking::Reactor::Upkeep::long_waits); };
  for (int i = 0; i < 4; ++i) {
    until_failure = 0;
    look();  // the next one finds that the wait is a long one
    EXPECT_EQ(std::exchange(until_failure, -1), 0) << "as long as there is nothing to report, a look needs no memory";
  }
  long allocations = 0;
  do {
    until_failure = allocations++;
    EXPECT_GT(look(), base::Clock::now());
  } while (std::exchange(until_failure, -1) < 0);
  EXPECT_GT(allocations, 2) << "a report needs memory";
  operation.complete();
  task.get();
}

TEST(NoMemoryTest, ASpawnThatFindsNoneLeavesTheOthersAsTheyAre) {
  for (const bool general : {false, true}) {
    for (std::uint64_t stream = 0; stream < scaled(2, 1); ++stream) {
      const Result all = spawn_tasks(stream, general, 1'000'000'000);
      ASSERT_EQ(all.refused, 0);
      ASSERT_GT(all.allocations, 40);
      int refused = 0;
      for (long failing = 0; failing < all.allocations; failing += 2) {
        const Result one = spawn_tasks(stream, general, failing);
        EXPECT_LE(one.refused, 1);
        EXPECT_EQ(one.ended, one.spawned);
        refused += one.refused;
      }
      EXPECT_GT(refused, all.allocations / 4) << "few allocations are those of pools, which find another way";
    }
  }
}

}  // namespace
}  // namespace dovetail::test
