#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint_writer.hpp"
#include "kernel.hpp"
#include "progress.hpp"
#include "restart.hpp"
#include "solver.hpp"
#include "support.hpp"

namespace heat {
namespace {

struct Variant {
  IoKind io;
  dovetail::Direct direct;
  std::size_t copies;
};

class heat_checkpoint : public ::testing::TestWithParam<Variant> {
 protected:
  // Computes and writes checkpoints of steps 4, 8, ..., 20 and a final field of step 23.
  void compute(const TemporaryFolder& folder, std::vector<double>& cells) {
    const Shape shape{45, 70, 16};
    cells = random_cells(shape.rows * shape.columns, 11);
    Field field(shape);
    fill(field, cells);
    dovetail::Runtime runtime({.workers = 2});
    Meter meter;
    CheckpointWriter writer(runtime, field, BlockIo(GetParam().io, meter), meter,
                            {folder.string(), GetParam().direct, GetParam().copies, {0, 1, 2}});
    Progress progress(false, 1, nullptr);
    solve(runtime, field, writer, {0, 23, 4}, meter, progress);
    EXPECT_EQ(writer.committed_count(), 5U);
    EXPECT_EQ(writer.committed_step(), 20U);
    EXPECT_EQ(meter.bytes_written(), 6 * (writer.checkpoint_bytes() + page));
    EXPECT_GT(meter.io_seconds(), 0);
  }

  std::optional<Restored> reload(const Candidate& candidate, std::string& reason) {
    dovetail::Runtime runtime({.workers = 2});
    Meter meter;
    return load(runtime, BlockIo(GetParam().io, meter), GetParam().direct, candidate, reason);
  }
};

TEST_P(heat_checkpoint, each_holds_exactly_the_field_of_its_step) {
  const TemporaryFolder folder;
  std::vector<double> cells;
  compute(folder, cells);
  const std::vector<Candidate> candidates = survey(folder.string());
  ASSERT_EQ(candidates.size(), 4U);
  EXPECT_FALSE(candidates[0].slot);
  std::uint64_t step = 0;
  const std::array<std::uint64_t, 4> expected_steps{12, 16, 20, 23};
  for (std::size_t i = 0; i < 4; ++i) {
    const Candidate& candidate = candidates[3 - i];
    ASSERT_TRUE(candidate.info) << candidate.reason;
    EXPECT_EQ(candidate.info->step, expected_steps[i]);
    for (; step < expected_steps[i]; ++step) {
      sweep_serially(cells, 45, 70);
    }
    std::string reason;
    std::optional<Restored> restored = reload(candidate, reason);
    ASSERT_TRUE(restored) << reason;
    EXPECT_TRUE(same_bits(restored->field, cells)) << "step " << step;
  }
  EXPECT_EQ(overwriting_order(candidates), (std::vector<std::size_t>{2, 0, 1}));
}

TEST_P(heat_checkpoint, damage_is_found_and_named) {
  const TemporaryFolder folder;
  std::vector<double> cells;
  compute(folder, cells);
  const Candidate newest = survey(folder.string()).front();
  const FileLayout places(newest.info->shape);
  const auto flip = [&](std::uint64_t offset) {
    std::fstream file(newest.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 0x04);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  };
  for (const std::uint64_t offset :
       {places.table_offset, places.data_offset + 5, places.data_offset + 2 * page + 100, places.total_bytes - 1}) {
    flip(offset);
    std::string reason;
    EXPECT_FALSE(reload(newest, reason)) << "byte " << offset;
    EXPECT_NE(reason.find("damaged"), std::string::npos) << reason;
    flip(offset);
  }
  flip(20);
  const auto found = survey(folder.string());
  EXPECT_EQ(found.front().info->step, 20U);
  EXPECT_NE(found.back().reason.find("damaged"), std::string::npos);
  flip(20);
  std::string reason;
  EXPECT_TRUE(reload(newest, reason)) << reason;
  fs::resize_file(newest.path, places.total_bytes - 1);
  EXPECT_NE(survey(folder.string()).back().reason.find("cut short"), std::string::npos);
}

std::string variant_name(const ::testing::TestParamInfo<Variant>& info) {
  return std::string(name_of(info.param.io)) +
         (info.param.direct == dovetail::Direct::never ? "_buffered_" : "_direct_") + std::to_string(info.param.copies);
}

INSTANTIATE_TEST_SUITE_P(variants, heat_checkpoint,
                         ::testing::Values(Variant{IoKind::plain, dovetail::Direct::never, 1},
                                           Variant{IoKind::pausing, dovetail::Direct::never, 1},
                                           Variant{IoKind::bound, dovetail::Direct::never, 1},
                                           Variant{IoKind::plain, dovetail::Direct::automatic, 0},
                                           Variant{IoKind::pausing, dovetail::Direct::automatic, 0},
                                           Variant{IoKind::bound, dovetail::Direct::automatic, 0},
                                           Variant{IoKind::bound, dovetail::Direct::automatic, 3}),
                         variant_name);

}  // namespace
}  // namespace heat
