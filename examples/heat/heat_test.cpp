#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "checkpoint_format.hpp"
#include "checkpoint_writer.hpp"
#include "hash.hpp"
#include "initial_field.hpp"
#include "kernel.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "restart.hpp"
#include "solver.hpp"

namespace heat {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "heat-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = name;
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string string() const { return path_.string(); }

 private:
  fs::path path_;
};

std::vector<double> random_cells(std::size_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> temperature(-100, 1000);
  std::vector<double> cells(count);
  for (double& cell : cells) {
    cell = temperature(generator);
  }
  return cells;
}

void fill(Field& field, const std::vector<double>& cells) {
  for (std::size_t row = 0; row < field.shape().rows; ++row) {
    for (std::size_t column = 0; column < field.shape().columns; ++column) {
      field.at(row, column) = cells[row * field.shape().columns + column];
    }
  }
}

// Bit patterns, so that -0.0 differs from 0.0.
::testing::AssertionResult same_bits(Field& field, const std::vector<double>& cells) {
  for (std::size_t row = 0; row < field.shape().rows; ++row) {
    for (std::size_t column = 0; column < field.shape().columns; ++column) {
      const double expected = cells[row * field.shape().columns + column];
      if (std::bit_cast<std::uint64_t>(field.at(row, column)) != std::bit_cast<std::uint64_t>(expected)) {
        return ::testing::AssertionFailure()
               << "cell (" << row << "," << column << ") is " << field.at(row, column) << ", not " << expected;
      }
    }
  }
  return ::testing::AssertionSuccess();
}

const std::vector<Shape> shapes{{3, 3, 1},    {3, 3, 2},   {4, 7, 3},   {16, 16, 16}, {17, 17, 16},
                                {33, 18, 16}, {40, 64, 8}, {64, 40, 9}, {50, 50, 64}, {2, 5, 2}};

TEST(heat_kernel, blocks_one_after_another_give_the_bits_of_the_serial_sweep) {
  for (const Shape& shape : shapes) {
    std::vector<double> cells = random_cells(shape.rows * shape.columns, 1);
    Field field(shape);
    fill(field, cells);
    for (int sweep = 0; sweep < 5; ++sweep) {
      sweep_serially(cells, shape.rows, shape.columns);
      for (const Block& block : field.blocks()) {
        update_block(field, block);
      }
    }
    EXPECT_TRUE(same_bits(field, cells)) << shape.rows << " x " << shape.columns << " by " << shape.block;
  }
}

TEST(heat_solver, tasks_give_the_bits_of_the_serial_sweep_for_any_number_of_workers) {
  for (const unsigned workers : {1U, 2U, 5U}) {
    dovetail::Runtime runtime({.workers = workers});
    for (const Shape& shape : shapes) {
      std::vector<double> cells = random_cells(shape.rows * shape.columns, workers);
      Field field(shape);
      fill(field, cells);
      Meter meter;
      Progress progress(false, 1, nullptr);
      for (int step = 0; step < 20; ++step) {
        sweep_serially(cells, shape.rows, shape.columns);
        spawn_step(runtime, field, meter, progress);
      }
      runtime.wait();
      EXPECT_TRUE(same_bits(field, cells)) << shape.rows << " x " << shape.columns << " by " << shape.block;
      EXPECT_GT(meter.compute_seconds(), 0);
    }
  }
}

TEST(heat_layout, blocks_cover_the_field_once_and_do_not_share_pages) {
  for (const Shape& shape : shapes) {
    std::size_t cells = 0;
    std::size_t end = 0;
    for (const Block& block : layout(shape)) {
      EXPECT_EQ(block.offset, end);
      EXPECT_EQ(block.offset % page, 0U);
      EXPECT_GE(block.padded_bytes, block.rows * block.columns * sizeof(double));
      end = block.offset + block.padded_bytes;
      cells += block.rows * block.columns;
    }
    EXPECT_EQ(cells, shape.rows * shape.columns);
  }
}

TEST(heat_hash, every_single_bit_counts_and_so_does_the_length) {
  for (const std::size_t length : {1U, 7U, 8U, 31U, 32U, 33U, 100U, 4096U}) {
    std::vector<std::byte> bytes(length, std::byte{0x5a});
    const std::uint64_t sound = hash_bytes(bytes);
    for (std::size_t bit = 0; bit < length * 8; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(hash_bytes(bytes), sound) << "bit " << bit << " of " << length << " bytes";
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(hash_bytes(bytes), sound);
    EXPECT_NE(hash_bytes(std::span(bytes).first(length - 1)), sound);
  }
}

TEST(heat_header, comes_back_as_it_was_and_no_byte_of_it_can_change_unseen) {
  std::array<std::byte, page> header{};
  const CheckpointInfo info{State::complete, 123456789, {300, 200, 64}, 0xfeedf00d};
  encode_header(info, header);
  const DecodedHeader sound = decode_header(header);
  ASSERT_TRUE(sound.info) << sound.reason;
  EXPECT_EQ(sound.info->state, info.state);
  EXPECT_EQ(sound.info->step, info.step);
  EXPECT_EQ(sound.info->shape, info.shape);
  EXPECT_EQ(sound.info->table_hash, info.table_hash);
  for (std::byte& byte : header) {
    byte ^= std::byte{0x10};
    const DecodedHeader damaged = decode_header(header);
    EXPECT_FALSE(damaged.info);
    EXPECT_FALSE(damaged.reason.empty());
    byte ^= std::byte{0x10};
  }
  EXPECT_FALSE(decode_header(std::span(header).first(page - 1)).info);
  EXPECT_FALSE(decode_header({}).info);
}

void write_field_file(const std::string& path, std::uint64_t rows, std::uint64_t columns,
                      const std::vector<double>& cells, const std::string& magic = "HEATFLD1") {
  std::ofstream file(path, std::ios::binary);
  file.write(magic.data(), 8);
  file.write(reinterpret_cast<const char*>(&rows), 8);
  file.write(reinterpret_cast<const char*>(&columns), 8);
  file.write(reinterpret_cast<const char*>(cells.data()), static_cast<std::streamsize>(cells.size() * sizeof(double)));
}

TEST(heat_initial_field, keeps_its_own_size_exactly_and_scales_linearly) {
  const TemporaryFolder folder;
  const std::vector<double> cells = random_cells(std::size_t{9} * 14, 7);
  write_field_file(folder / "field", 9, 14, cells);
  Field same = load_initial_field(folder / "field", {}, 4);
  EXPECT_TRUE(same_bits(same, cells));

  // A plane stays that plane whatever the size.
  std::vector<double> plane;
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 9; ++column) {
      plane.push_back(100.0 * row / 4 + 10.0 * column / 8);
    }
  }
  write_field_file(folder / "plane", 5, 9, plane);
  Field scaled = load_initial_field(folder / "plane", Size{31, 7}, 8);
  for (std::size_t row = 0; row < 31; ++row) {
    for (std::size_t column = 0; column < 7; ++column) {
      EXPECT_NEAR(scaled.at(row, column),
                  100.0 * static_cast<double>(row) / 30 + 10.0 * static_cast<double>(column) / 6, 1e-9);
    }
  }
}

TEST(heat_initial_field, refuses_what_is_no_field) {
  const TemporaryFolder folder;
  const std::vector<double> cells = random_cells(12, 3);
  write_field_file(folder / "magic", 3, 4, cells, "HEATFLD9");
  write_field_file(folder / "short", 3, 5, cells);
  write_field_file(folder / "long", 3, 3, cells);
  write_field_file(folder / "huge", std::uint64_t{1} << 40, 4, cells);
  std::vector<double> infinite = cells;
  infinite[5] = std::numeric_limits<double>::infinity();
  write_field_file(folder / "infinite", 3, 4, infinite);
  std::ofstream(folder / "empty").close();
  for (const char* name : {"magic", "short", "long", "huge", "infinite", "empty", "missing"}) {
    try {
      load_initial_field(folder / name, {}, 4);
      ADD_FAILURE() << name << " was accepted";
    } catch (const BadInput& error) {
      EXPECT_NE(std::string(error.what()).find(folder / name), std::string::npos) << error.what();
    }
  }
}

TEST(heat_options, are_read_and_wrong_ones_are_named) {
  const Options good = parse_options({"--field", "f", "--directory=d", "--size=30x40", "--io", "bound", "--direct",
                                      "automatic", "--steps", "7", "--progress"});
  EXPECT_EQ(good.size->rows, 30U);
  EXPECT_EQ(good.size->columns, 40U);
  EXPECT_EQ(good.io, IoKind::bound);
  EXPECT_EQ(good.direct, dovetail::Direct::automatic);
  EXPECT_EQ(good.steps, 7U);
  EXPECT_TRUE(good.progress);
  const std::vector<std::vector<std::string>> wrong{
      {"--no-such-thing"}, {"--size", "2"},     {"--size", "10x"},      {"--block", "0"},     {"--steps", "-1"},
      {"--steps", "1e3"},  {"--io", "magical"}, {"--direct", "always"}, {"--workers", "two"}, {"--steps"},
      {"--steps="},        {"--restart=yes"},   {"positional"}};
  for (std::vector<std::string> arguments : wrong) {
    const std::string name = arguments.front().substr(0, arguments.front().find('='));
    arguments.insert(arguments.begin(), {"--field", "f", "--directory", "d"});
    try {
      parse_options(arguments);
      ADD_FAILURE() << name << " was accepted";
    } catch (const BadInput& error) {
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(parse_options({"--field", "f"}), BadInput);
  EXPECT_THROW(parse_options({"--directory", "d"}), BadInput);
  EXPECT_THROW(parse_options({"--directory", "d", "--field", "f", "--restart"}), BadInput);
}

TEST(heat_report, hidden_share_is_nought_in_sequence_and_one_in_parallel) {
  Report report;
  report.compute = 3;
  report.io_time = 2;
  report.total = 5;
  EXPECT_DOUBLE_EQ(report.hidden_share(), 0);
  report.total = 3;
  EXPECT_DOUBLE_EQ(report.hidden_share(), 1);
  report.total = 4;
  EXPECT_DOUBLE_EQ(report.hidden_share(), 0.5);
}

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
                         ::testing::Values(Variant{IoKind::blocking, dovetail::Direct::never, 1},
                                           Variant{IoKind::pausing, dovetail::Direct::never, 1},
                                           Variant{IoKind::bound, dovetail::Direct::never, 1},
                                           Variant{IoKind::blocking, dovetail::Direct::automatic, 0},
                                           Variant{IoKind::pausing, dovetail::Direct::automatic, 0},
                                           Variant{IoKind::bound, dovetail::Direct::automatic, 0},
                                           Variant{IoKind::bound, dovetail::Direct::automatic, 3}),
                         variant_name);

}  // namespace
}  // namespace heat
