// Random programs against a serial reference. Each byte carries the number of its last writer; a task checks that it sees
// exactly what it would see if the tasks ran one after the other in the order of their spawns.
#include <algorithm>

#include "support.hpp"

namespace dovetail::test {
namespace {

struct Use {
  std::size_t begin;
  std::size_t length;
  AccessMode mode;
};

struct Step {
  std::vector<Use> uses;
  std::vector<Step> children;
  std::uint64_t version = 0;
  /// For each use: what its bytes hold before the task, serially.
  std::vector<std::vector<std::uint64_t>> expected;
};

struct Shape {
  std::size_t bytes;
  std::size_t tasks;
  std::size_t most_uses;
  std::size_t grid;  ///< 0: arbitrary regions; else regions of this length on a grid until `switch_at`.
  std::size_t switch_at;
  int depth;
  bool commutes;  ///< Commutative updates add instead of overwrite, so that their order does not matter.
};

class Program {
 public:
  Program(std::uint64_t stream, const Shape& shape) : random_(stream), shape_(shape), memory_(shape.bytes, 0) {
    std::vector<std::uint64_t> reference(shape.bytes, 0);
    steps_ = make_steps(shape.tasks, 0, shape.bytes, shape.depth);
    run_serially(steps_, reference);
    final_ = std::move(reference);
  }

  void run(unsigned workers, std::uint64_t space) {
    space_ = space;
    Runtime runtime(Options{.workers = workers});
    spawn_all(steps_, &runtime);
    runtime.wait();
    ASSERT_EQ(wrong_.load(), 0) << "workers " << workers;
    ASSERT_EQ(memory_, final_) << "workers " << workers;
  }

 private:
  // Children stay within what their parent has declared.
  std::vector<Step> make_steps(std::size_t count, std::size_t lowest, std::size_t highest, int depth) {
    std::vector<Step> steps(count);
    for (std::size_t i = 0; i < count; ++i) {
      Step& step = steps[i];
      step.version = ++versions_;
      const bool on_grid = shape_.grid != 0 && i < shape_.switch_at && depth == shape_.depth;
      for (std::size_t k = random_.between(1, shape_.most_uses); k > 0; --k) {
        step.uses.push_back(make_use(lowest, highest, on_grid));
      }
      // Overlapping uses of one task would make its own writes its input.
      std::vector<Use> disjoint;
      for (const Use& use : step.uses) {
        if (std::none_of(disjoint.begin(), disjoint.end(), [&](const Use& other) {
              return use.begin < other.begin + other.length && other.begin < use.begin + use.length;
            })) {
          disjoint.push_back(use);
        }
      }
      step.uses = disjoint;
      const Use& first = step.uses.front();
      if (depth > 0 && first.mode == AccessMode::inout && first.length > 1 && random_.once_in(2)) {
        step.children = make_steps(random_.between(1, 12), first.begin, first.begin + first.length, depth - 1);
      }
    }
    return steps;
  }

  Use make_use(std::size_t lowest, std::size_t highest, bool on_grid) {
    Use use{};
    if (on_grid) {
      use.begin = random_.between(0, (highest - lowest) / shape_.grid - 1) * shape_.grid + lowest;
      use.length = shape_.grid;
    } else {
      use.begin = random_.between(lowest, highest - 1);
      const std::size_t most = highest - use.begin;
      use.length = random_.between(1, random_.once_in(4) ? most : std::min<std::size_t>(most, 12));
    }
    use.mode = static_cast<AccessMode>(random_.between(0, shape_.commutes ? 3 : 2));
    return use;
  }

  static void write(std::uint64_t& place, AccessMode mode, std::uint64_t version) {
    if (mode == AccessMode::commutative) {
      place += version << 20;
    } else if (mode == AccessMode::out) {
      place = version;
    } else if (mode == AccessMode::inout) {
      place = place * 31 + version;
    }
  }

  void run_serially(std::vector<Step>& steps, std::vector<std::uint64_t>& memory) {
    for (Step& step : steps) {
      for (const Use& use : step.uses) {
        step.expected.emplace_back(memory.begin() + static_cast<std::ptrdiff_t>(use.begin),
                                   memory.begin() + static_cast<std::ptrdiff_t>(use.begin + use.length));
        for (std::size_t i = use.begin; i < use.begin + use.length; ++i) {
          write(memory[i], use.mode, step.version);
        }
      }
      run_serially(step.children, memory);
    }
  }

  void spawn_all(const std::vector<Step>& steps, Runtime* runtime) {
    Random own(steps.size());
    for (const Step& step : steps) {
      std::vector<Access> accesses;
      for (const Use& use : step.uses) {
        const Region region = space_ == 0
                                  ? Region{0, reinterpret_cast<std::uint64_t>(&memory_[use.begin]), use.length * 8}
                                  : Region{space_, use.begin, use.length};
        accesses.push_back({region, use.mode});
      }
      const TaskDescription description{.access = AccessList(std::span<const Access>(accesses))};
      auto body = [this, &step] { run_step(step); };
      if (runtime != nullptr) {
        runtime->spawn(description, body);
      } else {
        spawn(description, body);
      }
      stumble(own);
    }
  }

  void run_step(const Step& step) {
    Random own(step.version);
    for (std::size_t u = 0; u < step.uses.size(); ++u) {
      const Use& use = step.uses[u];
      for (std::size_t i = 0; i < use.length; ++i) {
        std::uint64_t& place = memory_[use.begin + i];
        const bool reads = use.mode == AccessMode::in || use.mode == AccessMode::inout;
        if (reads && place != step.expected[u][i]) {
          wrong_.fetch_add(1);
        }
        write(place, use.mode, step.version);
        if (i == 0) {
          stumble(own);
        }
      }
    }
    if (own.once_in(4)) {
      this_task::yield();
    }
    spawn_all(step.children, nullptr);
    if (!step.children.empty() && own.once_in(2)) {
      wait();
    }
  }

  Random random_;
  const Shape shape_;
  std::uint64_t versions_ = 0;
  std::uint64_t space_ = 0;
  std::vector<Step> steps_;
  std::vector<std::uint64_t>
      memory_;  ///< What tasks touch when the regions are in memory, and when they are in a file.
  std::vector<std::uint64_t> final_;
  std::atomic<int> wrong_{0};
};

void run_many(const Shape& shape) {
  const std::size_t rounds = scaled(12, 3);
  for (std::size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(round + 77);
    Program program(round, shape);
    program.run(static_cast<unsigned>(random.between(1, 8)), random.once_in(3) ? 5 : 0);
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

std::size_t tasks() { return scaled(2'000, 300); }

TEST(DependenciesRandomTest, ArbitraryRegions) { run_many({64, tasks(), 3, 0, 0, 0, false}); }
TEST(DependenciesRandomTest, ArbitraryRegionsInALargeSpace) { run_many({4'000, tasks(), 4, 0, 0, 0, false}); }
TEST(DependenciesRandomTest, OnAGrid) { run_many({200, tasks(), 5, 4, ~0UL, 0, false}); }
TEST(DependenciesRandomTest, OneWordPerRegion) { run_many({50, tasks(), 6, 1, ~0UL, 0, false}); }
TEST(DependenciesRandomTest, OnAGridThenNot) { run_many({200, tasks(), 3, 4, tasks() / 2, 0, false}); }
TEST(DependenciesRandomTest, Commutative) { run_many({60, tasks(), 3, 0, 0, 0, true}); }
TEST(DependenciesRandomTest, CommutativeOnAGrid) { run_many({60, tasks(), 4, 3, ~0UL, 0, true}); }
TEST(DependenciesRandomTest, CommutativeOnAGridThenNot) { run_many({100, tasks(), 3, 5, tasks() / 3, 0, true}); }
TEST(DependenciesRandomTest, NestedDomains) { run_many({100, tasks() / 2, 3, 0, 0, 3, false}); }
TEST(DependenciesRandomTest, NestedDomainsCommutative) { run_many({100, tasks() / 2, 3, 5, tasks() / 4, 2, true}); }

}  // namespace
}  // namespace dovetail::test
