// Random programs of which some tasks fail, against a serial reference. It says which bodies run, and which must not because they
// would read data that was not produced.
#include <algorithm>
#include <numeric>

#include "support.hpp"

namespace dovetail::test {
namespace {

struct Use {
  std::size_t cell;
  AccessMode mode;
};

struct Step {
  std::vector<Use> uses;  ///< Of different cells.
  bool fails;
};

struct Shape {
  std::size_t cells;
  std::size_t most_uses;
  std::uint64_t one_fails_in;
  std::uint64_t most_waits;  ///< Between spawns, for tasks to complete meanwhile: 0 spawns all at once.
};

std::vector<Step> make_steps(std::size_t count, const Shape& shape, Random& random) {
  std::vector<Step> steps(count);
  std::vector<std::size_t> cells(shape.cells);
  std::iota(cells.begin(), cells.end(), std::size_t{0});
  for (Step& step : steps) {
    const std::size_t uses = random.between(1, shape.most_uses);
    for (std::size_t i = 0; i < uses; ++i) {
      std::swap(cells[i], cells[random.between(i, shape.cells - 1)]);
      // Mostly readers, lest all be lost to the first failures.
      const auto mode = random.once_in(3) ? static_cast<AccessMode>(random.between(1, 2)) : AccessMode::in;
      step.uses.push_back({cells[i], mode});
    }
    step.fails = random.once_in(shape.one_fails_in);
  }
  return steps;
}

// Which of the bodies run, if the tasks are executed one after the other.
std::vector<char> run_serially(const std::vector<Step>& steps, std::size_t cells) {
  std::vector<char> bad(cells, 0);
  std::vector<char> ran;
  for (const Step& step : steps) {
    const bool cancelled = std::any_of(step.uses.begin(), step.uses.end(), [&](const Use& use) {
      return use.mode != AccessMode::out && bad[use.cell] != 0;
    });
    ran.push_back(cancelled ? 0 : 1);
    for (const Use& use : step.uses) {
      if (use.mode != AccessMode::in) {
        bad[use.cell] = cancelled || step.fails ? 1 : 0;
      }
    }
  }
  return ran;
}

void run_many(const Shape& shape) {
  const std::size_t rounds = scaled(30, 5);
  for (std::size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(round);
    const std::vector<Step> steps = make_steps(scaled(1'000, 200), shape, random);
    const std::vector<char> expected = run_serially(steps, shape.cells);
    std::vector<std::uint64_t> data(shape.cells);
    std::vector<std::atomic<char>> ran(steps.size());
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      std::vector<Access> accesses;
      for (const Use& use : steps[i].uses) {
        accesses.push_back({{0, reinterpret_cast<std::uint64_t>(&data[use.cell]), sizeof data[0]}, use.mode});
      }
      runtime.spawn({.access = AccessList(std::span<const Access>(accesses))}, [&, i] {
        ran[i] = 1;
        if (steps[i].fails) {
          throw std::runtime_error("on purpose");
        }
      });
      for (std::uint64_t turns = shape.most_waits == 0 ? 0 : random.between(0, shape.most_waits); turns > 0; --turns) {
        std::this_thread::yield();
      }
    }
    bool all_told = false;
    while (!all_told) {
      try {
        runtime.wait();
        all_told = true;
      } catch (const TaskFailed& failure) {
        EXPECT_FALSE(failure.cancelled()) << "only what failed by itself is reported";
      }
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
      ASSERT_EQ(ran[i].load(), expected[i]) << "task " << i;
    }
  }
}

// A task may declare what overlaps: the same cell twice, the whole and a part of it, in any order.
struct Span {
  std::size_t first;
  std::size_t count;
  AccessMode mode;
};
struct OverlappingStep {
  std::vector<Span> spans;
  bool fails;
};

constexpr AccessMode all_modes[] = {AccessMode::in, AccessMode::in, AccessMode::out, AccessMode::inout};

std::vector<OverlappingStep> make_overlapping_steps(std::size_t count, std::size_t cells, Random& random) {
  std::vector<OverlappingStep> steps(count);
  for (OverlappingStep& step : steps) {
    // Some lists do not fit the place that a list of accesses has of its own.
    const std::size_t spans = random.between(1, random.once_in(4) ? 10 : 4);
    const std::size_t first = random.between(0, cells - 1);
    for (std::size_t i = 0; i < spans; ++i) {
      const std::size_t begin = random.between(first, std::min(first + 2, cells - 1));
      const std::size_t length = random.between(1, std::min<std::size_t>(3, cells - begin));
      step.spans.push_back({begin, length, all_modes[random.between(0, std::size(all_modes) - 1)]});
    }
    step.fails = random.once_in(15);
  }
  return steps;
}

// Bodies that must not run: byte by byte, what they read was not produced. And those that need not: a region counts as bad as a whole
// until it is written as a whole.
struct Verdict {
  bool must_not_run;
  bool may_be_cancelled;
};

class Oracle {
 public:
  explicit Oracle(std::size_t cells) : bad_(cells, 0), tainted_(cells, 0) {}

  Verdict judge(const OverlappingStep& step) const {
    Verdict verdict{false, false};
    for (const Span& span : step.spans) {
      for (std::size_t cell = span.first; span.mode != AccessMode::out && cell < span.first + span.count; ++cell) {
        verdict.must_not_run |= bad_[cell] != 0;
        verdict.may_be_cancelled |= tainted_[cell] != 0;
      }
    }
    return verdict;
  }
  void apply(const OverlappingStep& step, bool produced) {
    for (const Span& span : step.spans) {
      for (std::size_t cell = span.first; span.mode != AccessMode::in && cell < span.first + span.count; ++cell) {
        bad_[cell] = produced ? 0 : 1;
      }
      // Whether a record of the failure is left depends on other regions; and what a cancelled task reads counts as bad as a whole.
      for (std::size_t cell = span.first; !produced && cell < span.first + span.count; ++cell) {
        tainted_[cell] = 1;
      }
    }
  }

 private:
  std::vector<char> bad_;
  std::vector<char> tainted_;
};

void run_overlapping(std::size_t cells, std::uint64_t most_waits) {
  const std::size_t rounds = scaled(100, 15);
  std::size_t cancelled = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    Random random(round);
    const std::vector<OverlappingStep> steps = make_overlapping_steps(scaled(60, 40), cells, random);
    std::vector<std::uint64_t> data(cells);
    std::vector<std::atomic<char>> ran(steps.size());
    {
      Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
      for (std::size_t i = 0; i < steps.size(); ++i) {
        std::vector<Access> accesses;
        for (const Span& span : steps[i].spans) {
          accesses.push_back(
              {{0, reinterpret_cast<std::uint64_t>(&data[span.first]), span.count * sizeof data[0]}, span.mode});
        }
        runtime.spawn({.access = AccessList(std::span<const Access>(accesses))}, [&, i] {
          ran[i] = 1;
          if (steps[i].fails) {
            throw std::runtime_error("on purpose");
          }
        });
        for (std::uint64_t turns = most_waits == 0 ? 0 : random.between(0, most_waits); turns > 0; --turns) {
          std::this_thread::yield();
        }
      }
      while (failure_of([&] { runtime.wait(); })) {
      }
    }
    Oracle oracle(cells);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Verdict verdict = oracle.judge(steps[i]);
      if (verdict.must_not_run) {
        ASSERT_EQ(ran[i].load(), 0) << "task " << i << " ran on what was not produced";
      }
      if (!verdict.may_be_cancelled) {
        ASSERT_EQ(ran[i].load(), 1) << "task " << i << " was cancelled without a cause";
      }
      cancelled += ran[i].load() == 0 ? 1 : 0;
      oracle.apply(steps[i], ran[i].load() != 0 && !steps[i].fails);
    }
  }
  EXPECT_GT(cancelled, rounds / 2) << "nothing was at stake";
}

TEST(FailureRandomTest, OverlapsWithinATask) { run_overlapping(12, 0); }
TEST(FailureRandomTest, OverlapsWithinATaskWhileTasksComplete) { run_overlapping(12, 3); }

TEST(FailureRandomTest, FewUses) { run_many({40, 3, 20, 0}); }
TEST(FailureRandomTest, ManyUses) { run_many({100, 16, 50, 0}); }
TEST(FailureRandomTest, FewUsesWhileTasksComplete) { run_many({40, 3, 20, 3}); }
TEST(FailureRandomTest, ManyUsesWhileTasksComplete) { run_many({100, 16, 50, 3}); }

}  // namespace
}  // namespace dovetail::test
