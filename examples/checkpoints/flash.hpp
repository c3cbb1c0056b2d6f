// The mesh that a checkpoint of FLASH describes: blocks of 8 x 8 x 8 cells with guard cells around them, of which only the inner ones are written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "program.hpp"

namespace programs::flash {

constexpr std::size_t side = 8;
constexpr std::size_t guards = 4;
constexpr std::size_t whole_side = side + 2 * guards;
constexpr std::size_t cells = side * side * side;
constexpr std::size_t whole_cells = whole_side * whole_side * whole_side;
constexpr int variables = 24;

inline std::string name_of(int variable) { return "unk" + std::to_string(variable); }

/// Of all ranks.
inline std::uint64_t blocks_of(const Job& job) {
  return static_cast<std::uint64_t>(job.bytes) / (cells * sizeof(double) * variables) + 1;
}

/// The blocks of this rank in memory, guard cells too. Those have what no file may have.
inline std::vector<double> data_of(const Part& part, int number, int variable) {
  std::vector<double> data(part.count * whole_cells, -1);
  std::uint64_t index = part.first * cells;
  for (std::uint64_t block = 0; block < part.count; ++block) {
    for (std::size_t z = 0; z < side; ++z) {
      for (std::size_t y = 0; y < side; ++y) {
        double* const row = &data[block * whole_cells + ((z + guards) * whole_side + y + guards) * whole_side + guards];
        for (std::size_t x = 0; x < side; ++x) {
          row[x] = value_of(number, variable, index++);
        }
      }
    }
  }
  return data;
}

/// What describes the blocks: name, numbers for each block, in the order of the file.
struct Description {
  const char* name;
  std::uint64_t each;
};
constexpr std::array<Description, 6> descriptions = {
    {{"refine level", 1}, {"node type", 1}, {"gid", 15}, {"coordinates", 3}, {"block size", 3}, {"bounding box", 6}}};

inline std::vector<double> numbers_of(const Part& part, std::uint64_t each, int number, int what) {
  std::vector<double> numbers(part.count * each);
  for (std::uint64_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = value_of(number, variables + what, part.first * each + i);
  }
  return numbers;
}

}  // namespace programs::flash
