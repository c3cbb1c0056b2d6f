// The mesh and what gets from block to block, on random meshes. DOVETAIL_TEST_SEED sets the seed.
// One thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "exchange.hpp"
#include "moves.hpp"
#include "object.hpp"
#include "tree.hpp"

namespace {

using namespace refinement;

class RandomMeshTest : public testing::Test {
 protected:
  RandomMeshTest() {
    const char* const wanted = std::getenv("DOVETAIL_TEST_SEED");
    const auto seed = wanted != nullptr ? static_cast<unsigned>(std::atoi(wanted)) : std::random_device{}();
    RecordProperty("seed", std::to_string(seed));
    std::printf("seed %u\n", seed);
    chance_.seed(seed);
  }

  std::vector<Mark> random_marks(const Tree& tree) {
    // Few are refined and most coarsened, so that meshes have all levels and stay small.
    const int percent = std::uniform_int_distribution(0, 15)(chance_);
    std::vector<Mark> marks(tree.size());
    for (std::size_t block = 0; block < tree.size(); ++block) {
      const int drawn = std::uniform_int_distribution(0, 99)(chance_);
      const int level = tree.cube(block).level;
      marks[block] =
          drawn < percent && level < 4 ? Mark::refine : (drawn < 85 && level > 1 ? Mark::coarsen : Mark::keep);
    }
    return marks;
  }
  Tree random_tree() {
    Tree tree(2);
    for (int round = 0; round < 5; ++round) {
      tree = tree.refined(random_marks(tree));
    }
    return tree;
  }

  std::mt19937 chance_;
};

bool is_near(const Tree& tree, std::size_t one, std::size_t other) {
  for (const Side side : all_sides) {
    const Neighbours others = tree.beside(one, side);
    for (std::uint8_t i = 0; i < others.count; ++i) {
      if (others.blocks[i] == other) {
        return true;
      }
    }
  }
  return false;
}

void expect_sound(const Tree& tree) {
  std::uint64_t volume = 0;
  for (std::size_t block = 0; block < tree.size(); ++block) {
    const Cube& cube = tree.cube(block);
    volume += std::uint64_t{1} << static_cast<unsigned>(3 * (Cube::deepest - cube.level));
    ASSERT_EQ(tree.find(cube), block);
    if (block > 0) {
      ASSERT_LT(tree.cube(block - 1).code(), cube.code());
    }
    for (const Side side : all_sides) {
      const Neighbours others = tree.beside(block, side);
      ASSERT_EQ(others.count == 0, !cube.beside(side).has_value());
      for (std::uint8_t i = 0; i < others.count; ++i) {
        const int levels = tree.cube(others.blocks[i]).level - cube.level;
        ASSERT_EQ(levels, others.relation == Relation::same ? 0 : (others.relation == Relation::finer ? 1 : -1));
        ASSERT_TRUE(is_near(tree, others.blocks[i], block));
      }
    }
  }
  ASSERT_EQ(volume, std::uint64_t{1} << static_cast<unsigned>(3 * Cube::deepest));
}

TEST_F(RandomMeshTest, CoversTheDomainAndChangesByOneLevelAtMost) {
  Tree tree(3);  // most blocks are drawn to be coarser, so it begins with many
  const int rounds = std::getenv("DOVETAIL_TEST_SCALE") != nullptr ? 8 : 40;
  for (int round = 0; round < rounds; ++round) {
    tree = tree.refined(random_marks(tree));
    ASSERT_NO_FATAL_FAILURE(expect_sound(tree)) << "round " << round;
  }
}

TEST_F(RandomMeshTest, EachMarkIsDoneOrMore) {
  const Tree tree = random_tree();
  const std::vector<Mark> marks = random_marks(tree);
  const Tree next = tree.refined(marks);
  for (std::size_t block = 0; block < tree.size(); ++block) {
    const Cube& cube = tree.cube(block);
    if (marks[block] == Mark::refine) {
      EXPECT_TRUE(next.find(cube.child(0)));
    } else if (marks[block] == Mark::keep) {
      EXPECT_FALSE(cube.level > 0 && next.find(cube.parent()));
    }
  }
}

TEST(TreeTest, UniformMeshesBecomeEachOther) {
  const Tree coarse(1);
  const Tree fine = coarse.refined(std::vector(coarse.size(), Mark::refine));
  EXPECT_EQ(fine.size(), Tree(2).size());
  for (std::size_t block = 0; block < fine.size(); ++block) {
    EXPECT_EQ(fine.cube(block).code(), Tree(2).cube(block).code());
  }
  EXPECT_EQ(fine.refined(std::vector(fine.size(), Mark::keep)).size(), 64U);
  EXPECT_EQ(fine.refined(std::vector(fine.size(), Mark::coarsen)).size(), 8U);
}

TEST(TreeTest, OneRefinedBlockKeepsItsSiblings) {
  const Tree tree(2);
  std::vector<Mark> marks(tree.size(), Mark::coarsen);
  marks[0] = Mark::refine;
  const Tree next = tree.refined(marks);
  // Of the 8 octants, the one of the mark has its 7 others of level 2, and 8 of level 3; the 7 other octants become one block each.
  EXPECT_EQ(next.size(), 8U + 7U + 7U);
}

TEST(SharesTest, AreEqualAndKnowTheirOwner) {
  for (const std::size_t blocks : {8U, 9U, 15U, 64U, 1001U}) {
    for (const int ranks : {1, 2, 3, 7, 8}) {
      const Shares shares(blocks, ranks);
      std::size_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(shares.first(rank), next);
        EXPECT_LE(shares.count(rank) - blocks / static_cast<std::size_t>(ranks), 1U);
        for (std::size_t block = next; block < next + shares.count(rank); ++block) {
          EXPECT_EQ(shares.owner(block), rank);
        }
        next += shares.count(rank);
      }
      EXPECT_EQ(next, blocks);
    }
  }
}

// (from rank, to rank, tag) → what the message is.
using Messages = std::map<std::tuple<int, int, int>, std::tuple<std::uint32_t, std::uint32_t, std::uint8_t>>;

TEST_F(RandomMeshTest, RanksAgreeOnTheFacesTheyExchange) {
  const Tree tree = random_tree();
  std::size_t faces = 0;
  for (std::size_t block = 0; block < tree.size(); ++block) {
    faces += faces_of(tree, block).size();
  }
  for (const int ranks : {1, 2, 3, 5}) {
    const Shares shares(tree.size(), ranks);
    Messages sent;
    Messages received;
    std::size_t here = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Exchange exchange(tree, shares, rank);
      ASSERT_EQ(exchange.blocks(), shares.count(rank));
      for (const FaceMessage& message : exchange.departures()) {
        ASSERT_EQ(message.face.from, shares.first(rank) + message.block);
        const bool is_new = sent.try_emplace({rank, message.rank, message.tag(0)}, message.face.from, message.face.to,
                                             message.face.quarter)
                                .second;
        ASSERT_TRUE(is_new);
        ASSERT_LE(message.tag(1), exchange.highest_tag());
        ASSERT_NE(message.tag(1), message.tag(0));
      }
      for (const FaceMessage& message : exchange.arrivals()) {
        ASSERT_EQ(message.face.to, shares.first(rank) + message.block);
        received.try_emplace({message.rank, rank, message.tag(0)}, message.face.from, message.face.to,
                             message.face.quarter);
      }
      for (std::size_t block = 0; block < exchange.blocks(); ++block) {
        // A block sends as many faces as it gets. So in the one-sided variant the next face of a neighbour tells that it has read this one.
        ASSERT_EQ(exchange.arrivals_of(block).size(), exchange.departures_of(block).size());
        for (const Exchange::Source& source : exchange.sources(block)) {
          here += source.is_here ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(sent, received);
    EXPECT_EQ(sent.size() + here, faces) << ranks << " ranks";
  }
}

TEST_F(RandomMeshTest, RanksAgreeOnThePiecesThatMove) {
  const Tree before = random_tree();
  const Tree after = before.refined(random_marks(before));
  for (const int ranks : {1, 2, 3, 5}) {
    Messages sent;
    Messages received;
    std::size_t stays = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const Moves moves(before, after, rank, ranks);
      stays += moves.stays().size();
      for (const PieceMessage& message : moves.departures()) {
        sent[{rank, message.rank, message.tag}] = {message.piece.from, message.piece.to, message.piece.octant};
      }
      for (const PieceMessage& message : moves.arrivals()) {
        received[{message.rank, rank, message.tag}] = {message.piece.from, message.piece.to, message.piece.octant};
      }
    }
    EXPECT_EQ(sent, received);
    std::size_t pieces = 0;
    for (std::size_t block = 0; block < after.size(); ++block) {
      pieces += pieces_of(before, after, block).size();
    }
    EXPECT_EQ(sent.size() + stays, pieces) << ranks << " ranks";
  }
}

TEST(ObjectTest, SurfaceMeetsWhatItGoesThrough) {
  const Object object(20, 0, 1);  // around (20, 30, 45) percent
  EXPECT_TRUE(object.surface_meets(Cube{}));
  const auto cube_at = [](int x, int y, int z) {
    const auto place = [](int percent) { return static_cast<std::uint16_t>(percent * 64 / 100); };
    return Cube{6, {place(x), place(y), place(z)}};
  };
  EXPECT_FALSE(object.surface_meets(cube_at(20, 30, 45)));  // its middle
  EXPECT_TRUE(object.surface_meets(cube_at(40, 30, 45)));
  EXPECT_TRUE(object.surface_meets(cube_at(20, 30, 25)));
  EXPECT_FALSE(object.surface_meets(cube_at(90, 90, 90)));
  EXPECT_EQ(mark_of(object, Cube{}, 0, 2), Mark::refine);
  EXPECT_EQ(mark_of(object, Cube{}, 0, 0), Mark::keep);
  EXPECT_EQ(mark_of(object, cube_at(90, 90, 90), 2, 6), Mark::coarsen);
  EXPECT_EQ(mark_of(object, cube_at(90, 90, 90), 6, 6), Mark::keep);
}

}  // namespace
