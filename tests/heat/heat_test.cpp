#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "checkpoint_format.hpp"
#include "hash.hpp"
#include "initial_field.hpp"
#include "kernel.hpp"
#include "meter.hpp"
#include "options.hpp"
#include "part.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "solver.hpp"
#include "support.hpp"

namespace heat {
namespace {

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

TEST(heat_kernel, parts_with_the_rows_beside_them_give_the_bits_of_the_serial_sweep) {
  for (const Shape& shape : shapes) {
    for (std::size_t ranks = 1; ranks <= shape.block_rows(); ++ranks) {
      std::vector<double> cells = random_cells(shape.rows * shape.columns, 3);
      std::vector<Part> parts;
      std::vector<Field> fields;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        parts.push_back(Part::of_rank(shape, rank, ranks));
        fields.emplace_back(parts.back().shape());
        const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(parts.back().first_row() * shape.columns);
        fill(fields.back(), {begin, begin + static_cast<std::ptrdiff_t>(fields.back().shape().rows * shape.columns)});
      }
      const auto row = [&](std::size_t rank, std::size_t which) {
        std::vector<double> copy;
        for (std::size_t column = 0; column < shape.columns; ++column) {
          copy.push_back(fields[rank].at(which, column));
        }
        return copy;
      };
      for (int sweep = 0; sweep < 5; ++sweep) {
        sweep_serially(cells, shape.rows, shape.columns);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          const std::vector<double> above =
              rank > 0 ? row(rank - 1, fields[rank - 1].shape().rows - 1) : std::vector<double>{};
          const std::vector<double> below = rank + 1 < ranks ? row(rank + 1, 0) : std::vector<double>{};
          for (const Block& block : fields[rank].blocks()) {
            update_block(fields[rank], block,
                         {above.empty() ? nullptr : above.data(), below.empty() ? nullptr : below.data()});
          }
        }
      }
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(parts[rank].first_row() * shape.columns);
        const std::vector<double> mine(begin,
                                       begin + static_cast<std::ptrdiff_t>(fields[rank].shape().rows * shape.columns));
        EXPECT_TRUE(same_bits(fields[rank], mine)) << "rank " << rank << " of " << ranks;
      }
    }
  }
}

TEST(heat_part, has_the_blocks_of_the_whole_in_their_places) {
  for (const Shape& shape : shapes) {
    const std::vector<Block> whole = layout(shape);
    for (std::size_t ranks = 1; ranks <= shape.block_rows(); ++ranks) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const Part part = Part::of_rank(shape, rank, ranks);
        EXPECT_EQ(part.first_block(), next);
        const std::vector<Block> blocks = layout(part.shape());
        ASSERT_EQ(blocks.size(), part.blocks());
        for (const Block& block : blocks) {
          const Block& same = whole.at(next);
          EXPECT_EQ(part.first + block.row, same.row);
          EXPECT_EQ(block.rows, same.rows);
          EXPECT_EQ(block.columns, same.columns);
          EXPECT_EQ(part.offset() + block.offset, same.offset);
          EXPECT_EQ(block.padded_bytes, same.padded_bytes);
          ++next;
        }
      }
      EXPECT_EQ(next, whole.size());
    }
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

TEST(heat_report, hidden_is_the_time_in_which_both_go_on) {
  Meter meter;
  meter.begin_io();
  meter.end_io(10);
  meter.begin_compute();
  meter.end_compute();
  EXPECT_EQ(meter.hidden_seconds(), 0) << "one after the other";
  const double alone = meter.io_seconds();
  meter.begin_compute();
  meter.begin_io();
  meter.begin_compute();
  meter.end_io(10);
  meter.end_compute();
  meter.end_compute();
  const double rounding = 1e-12;  // the clock counts nanoseconds
  EXPECT_NEAR(meter.hidden_seconds(), meter.io_seconds() - alone, rounding) << "all of the second operation";
  EXPECT_GE(meter.compute_seconds() + rounding, meter.hidden_seconds());
  Report report;
  report.io_time = 2;
  report.hidden = 1;
  EXPECT_DOUBLE_EQ(report.hidden_share(), 0.5);
}

}  // namespace
}  // namespace heat
