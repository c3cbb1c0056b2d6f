// What a plan foretells is asked for in pieces that the kernel does not cut short, and nothing of it is lost where the file has to be left meanwhile.
// One thread.
#include "prefetch/plan_advice.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "plan_memory.hpp"
#include "prefetch/follower.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t run_bytes = 8192;

/// An open file that the program closes after so many requests.
struct ProgramsFile {
  const FilePlan& plan;
  std::set<std::uint64_t>& cached;  // the beginnings of runs
  std::vector<Range>& pieces;
  std::size_t& requests_left;

  std::int64_t cached_pages(const Range& range) const noexcept {
    return cached.contains(range.offset) ? static_cast<std::int64_t>(run_bytes / 4096) : 0;
  }
  bool has_the_file() const noexcept { return requests_left != 0; }
  bool will_need(const Range& range) const noexcept {
    if (requests_left == 0) {
      return false;
    }
    --requests_left;
    cached.insert(range.offset);
    return in_pieces(range, plan.piece, [this](const Range& piece) noexcept {
      pieces.push_back(piece);
      return true;
    });
  }
};

class PlanAdvice : public testing::Test {
 protected:
  void give(const FilePlan& plan, std::size_t requests) {
    give_plan(plan, ProgramsFile{plan, cached, pieces, requests});
  }

  PlanMemory memory;
  std::set<std::uint64_t> cached;
  std::vector<Range> pieces;
};

TEST_F(PlanAdvice, WhatWasNotAskedForWhenTheFileWasClosedIsAskedForWhenItIsOpenAgain) {
  constexpr std::uint64_t runs = 100;
  std::vector<PlanMemory::Run> strides;
  for (std::uint64_t number = 0; number < runs; ++number) {
    strides.push_back({number * 10 * run_bytes, run_bytes});
  }
  memory.window = 4 * runs * run_bytes;
  const FilePlan plan = memory.file(strides).only();
  give(plan, 7);
  EXPECT_EQ(cached.size(), 7U);
  EXPECT_TRUE(wants_advice(plan));
  follow(plan, 0, run_bytes);
  give(plan, std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(cached.size(), runs);
  EXPECT_EQ(pieces.size(), runs) << "nothing is asked for twice";
  EXPECT_FALSE(wants_advice(plan));
}

TEST_F(PlanAdvice, NoPieceIsLongerThanTheKernelTakes) {
  memory.window = std::uint64_t{1} << 24;
  memory.piece = 3 * 4096;
  const FilePlan plan = memory.file({{4096, 10 * 4096}, {1 << 20, 4096}, {2 << 20, 100 * 4096}}).only();
  give(plan, std::numeric_limits<std::size_t>::max());
  std::uint64_t bytes = 0;
  for (const Range& piece : pieces) {
    EXPECT_LE(piece.end - piece.offset, memory.piece);
    bytes += piece.end - piece.offset;
  }
  EXPECT_EQ(bytes, 111U * 4096);
}

}  // namespace
}  // namespace dovetail::prefetching
