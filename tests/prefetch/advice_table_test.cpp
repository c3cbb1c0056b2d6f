// Which rule a file has, which part of it a read is in, and what stands in the memory of a configuration.
#include "prefetch/advice_table.hpp"

#include <gtest/gtest.h>

#include <random>

#include "prefetch/advice_memory.hpp"
#include "storage/support.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t mebibyte = 1U << 20;

AdvisedPart all_of(AdviceKind kind) { return {{0, far_end}, kind}; }
const std::vector<AdviceMemory::Rule> one_rule = {{.pattern = "/a", .process = {}, .parts = {}}};
FileIdentity file(std::uint64_t inode, std::uint64_t size = 100 * mebibyte) { return {7, inode, size, 1, 2}; }

TEST(AdviceTableTest, TheFirstRuleThatFitsCounts) {
  AdviceMemory memory({{.pattern = "/data/a.root", .process = "ana*", .parts = {all_of(AdviceKind::will_need)}},
                       {.pattern = "/data/*.root", .process = {}, .parts = {all_of(AdviceKind::random)}},
                       {.pattern = "/data/**", .process = {}, .parts = {all_of(AdviceKind::normal)}}});
  const AdviceTable table = memory.table();
  EXPECT_EQ(table.rule_for("/data/a.root", "analysis", "python3"), 0U);
  EXPECT_EQ(table.rule_for("/data/a.root", "script", "analysis"), 0U) << "either name";
  EXPECT_EQ(table.rule_for("/data/a.root", "cat", "cat"), 1U);
  EXPECT_EQ(table.rule_for("/data/x/a.root", "analysis", "analysis"), 2U);
  EXPECT_EQ(table.rule_for("/other", "analysis", "analysis"), AdviceTable::no_rule);
}

TEST(AdviceTableTest, APartEndsWhereAnotherOneBegins) {
  AdviceMemory memory(
      {{.pattern = "/a", .process = {}, .parts = {{{10, 20}, AdviceKind::random}, {{30, 40}, AdviceKind::will_need}}},
       {.pattern = "/b", .process = {}, .parts = {all_of(AdviceKind::sequential)}}});
  const AdviceTable table = memory.table();
  const auto expect = [&table](std::uint64_t offset, std::uint64_t from, std::uint64_t to, AdviceKind kind) {
    const AdvisedPart part = table.part(0, offset);
    EXPECT_EQ(part.range.offset, from) << offset;
    EXPECT_EQ(part.range.end, to) << offset;
    EXPECT_EQ(part.kind, kind) << offset;
  };
  expect(0, 0, 10, AdviceKind::normal);
  expect(10, 10, 20, AdviceKind::random);
  expect(19, 10, 20, AdviceKind::random);
  expect(20, 20, 30, AdviceKind::normal);
  expect(39, 30, 40, AdviceKind::will_need);
  expect(40, 40, far_end, AdviceKind::normal);
  EXPECT_EQ(table.part(1, 5).kind, AdviceKind::sequential) << "the parts of another rule are its own";
}

TEST(AdviceTableTest, AFileHasAPlaceForEachRule) {
  AdviceMemory memory({{.pattern = "/a", .process = {}, .parts = {}}, {.pattern = "/b", .process = {}, .parts = {}}});
  AdviceTable table = memory.table();
  bool made = false;
  const std::uint32_t one = table.find(file(1), 0, made);
  EXPECT_TRUE(made);
  const std::uint32_t other = table.find(file(1), 1, made);
  EXPECT_TRUE(made);
  EXPECT_NE(one, other);
  EXPECT_EQ(table.find(file(1), 0, made), one);
  EXPECT_FALSE(made);
}

TEST(AdviceTableTest, OfAFileThatWasChangedNoBlockIsKnown) {
  AdviceMemory memory({{.pattern = "/a", .process = {}, .parts = {all_of(AdviceKind::will_need)}}});
  AdviceTable table = memory.table();
  bool made = false;
  AdvisedFile& found = table.file(table.find(file(1), 0, made));
  found.blocks.note({0, 10}, 1, {0, 100 * mebibyte}, table.sizes(0, 100 * mebibyte));
  EXPECT_TRUE(found.blocks.has_work());
  found.given_up = all_is_cached;
  table.find(file(1), 0, made);
  EXPECT_TRUE(found.blocks.has_work());
  table.find(file(1, 200 * mebibyte), 0, made);
  EXPECT_FALSE(found.blocks.has_work());
  EXPECT_EQ(found.given_up, not_given_up);
}

TEST(AdviceTableTest, WhatIsToldIsTakenOnceAndWakesOnlyWhoWaits) {
  AdviceMemory memory(one_rule);
  AdviceTable table = memory.table();
  int woken = 0;
  const auto wake = [&woken](std::atomic<std::uint32_t>&) { ++woken; };
  table.tell(3, wake);
  table.tell(5, wake);
  EXPECT_EQ(woken, 0);
  EXPECT_EQ(table.take_work(0), (1U << 3) | (1U << 5));
  EXPECT_EQ(table.take_work(0), 0U);
  table.will_wait();
  table.tell(3, wake);
  table.tell(3, wake);
  EXPECT_EQ(woken, 1);
}

TEST(AdviceTableTest, IsEmptyWhereTheMemoryIsNoTable) {
  EXPECT_EQ(AdviceTable::in(nullptr, 0).files(), 0U);
  AdviceMemory memory(one_rule);
  ASSERT_EQ(memory.table().files(), AdviceMemory::files);
  EXPECT_EQ(AdviceTable::in(memory.memory(), memory.bytes() - 4096).files(), 0U);
  for (std::size_t field = 0; field < 6; ++field) {
    AdviceMemory wrong(one_rule);
    reinterpret_cast<std::uint64_t*>(wrong.memory())[field] = UINT64_MAX / (field + 1);
    EXPECT_EQ(wrong.table().files(), 0U) << field;
  }
}

TEST(AdviceTableTest, WhateverIsInItNothingElseIsTouched) {
  // AddressSanitizer sees to it.
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 200; ++round) {
    AdviceMemory memory({{.pattern = "/data/**", .process = "a*", .parts = {all_of(AdviceKind::will_need)}},
                         {.pattern = "/b", .process = {}, .parts = {{{10, 20}, AdviceKind::random}}}});
    AdviceTable table = memory.table();
    const std::size_t changed = random() % 2 == 0 ? 4096 + 200 : static_cast<std::size_t>(memory.bytes());
    for (int change = 0; change < 400; ++change) {
      memory.memory()[4096 + random() % (changed - 4096)] = static_cast<std::byte>(random());
    }
    for (std::uint32_t rule = 0; rule < table.rules(); ++rule) {
      table.part(rule, random());
      table.sizes(rule, 0);
    }
    table.rule_for("/data/x/y", "abc", "def");
    for (std::uint64_t inode = 0; inode < 20; ++inode) {
      bool made = false;
      const std::uint32_t number = table.find(file(inode), 0, made);
      if (number < table.files()) {
        table.file(number).blocks.note({random() % far_end, far_end}, 1, {0, far_end}, table.sizes(1, far_end));
      }
    }
  }
}

// How many blocks of the file a read asks for, of those that four wanted ones begin with.
std::uint64_t asked_by_a_read(AdviceTable& table, std::uint32_t rule, std::uint64_t inode, std::uint64_t offset,
                              std::uint32_t second) {
  bool made = false;
  AdvisedFile& found = table.file(table.find(file(inode), rule, made));
  table.note(rule, found, offset, 10, inode, second);
  std::uint64_t bytes = 0;
  Range range{};
  while (found.blocks.take_wanted(range)) {
    bytes += range.end - range.offset;
  }
  return bytes / mebibyte;
}

TEST(AdviceTableTest, FilesThatAreReadAtTheTimeShareTheMemoryOfTheirRule) {
  const std::vector<AdvisedPart> all{{{0, far_end}, AdviceKind::will_need}};
  AdviceMemory memory({{.pattern = "/a", .process = {}, .parts = all, .memory_bytes = 4 * mebibyte},
                       {.pattern = "/b", .process = {}, .parts = all, .memory_bytes = 4 * mebibyte},
                       {.pattern = "/c", .process = {}, .parts = all}});
  AdviceTable table = memory.table();
  EXPECT_EQ(asked_by_a_read(table, 0, 1, 0, 10), 4U);
  EXPECT_EQ(asked_by_a_read(table, 1, 2, 0, 10), 2U) << "rules that share have one count of files";
  EXPECT_EQ(asked_by_a_read(table, 0, 1, 10 * mebibyte, 11), 2U) << "files of the period before count";
  EXPECT_EQ(asked_by_a_read(table, 2, 3, 0, 11), 4U) << "a rule without a limit";
  EXPECT_EQ(asked_by_a_read(table, 0, 1, 20 * mebibyte, 13), 4U) << "it is alone now";
  EXPECT_EQ(asked_by_a_read(table, 0, 4, 0, 13), 2U);
  EXPECT_EQ(asked_by_a_read(table, 0, 5, 0, 13), 1U);
  EXPECT_EQ(asked_by_a_read(table, 0, 6, 0, 13), 1U);
  EXPECT_EQ(asked_by_a_read(table, 0, 7, 0, 13), 0U) << "less than a block is none";
}

TEST(AdviceTableTest, FilesOfRulesWithoutALimitTakeNoMemoryOfARuleThatHasOne) {
  const std::vector<AdvisedPart> all{{{0, far_end}, AdviceKind::will_need}};
  AdviceMemory memory({{.pattern = "/a", .process = {}, .parts = all, .memory_bytes = 4 * mebibyte},
                       {.pattern = "/b", .process = {}, .parts = all}});
  AdviceTable table = memory.table();
  table.limit(1024 * mebibyte);
  for (std::uint64_t number = 2; number < 5; ++number) {
    EXPECT_EQ(asked_by_a_read(table, 1, number, 0, 10), 4U);
  }
  EXPECT_EQ(asked_by_a_read(table, 0, 1, 0, 10), 4U);
}

TEST(AdviceTableTest, AThreadThatWasHeldUpForgetsNoFileOfALaterPeriod) {
  FilesBeingRead files;
  EXPECT_EQ(files.count(11, true), 1U);
  EXPECT_EQ(files.count(11, true), 2U);
  EXPECT_EQ(files.count(10, true), 3U);
  EXPECT_EQ(files.count(11, false), 3U);
  EXPECT_EQ(files.count(12, true), 3U);
  EXPECT_EQ(files.count(13, true), 1U);
}

TEST(AdviceTableTest, AllRulesHaveTheMemoryThatIsToBeHad) {
  const std::vector<AdvisedPart> all{{{0, far_end}, AdviceKind::will_need}};
  AdviceMemory memory({{.pattern = "/a", .process = {}, .parts = all},
                       {.pattern = "/b", .process = {}, .parts = all, .memory_bytes = 2 * mebibyte}});
  AdviceTable table = memory.table();
  table.limit(6 * mebibyte);
  EXPECT_EQ(asked_by_a_read(table, 0, 1, 0, 10), 4U);
  EXPECT_EQ(asked_by_a_read(table, 1, 2, 0, 10), 2U) << "no other file has memory of its rule";
  EXPECT_EQ(asked_by_a_read(table, 0, 3, 0, 10), 2U);
  table.limit(1);
  EXPECT_EQ(asked_by_a_read(table, 0, 1, 50 * mebibyte, 10), 0U);
}

}  // namespace
}  // namespace dovetail::prefetching
