/// @file
/// What the tests of this example share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "field.hpp"

namespace heat {

namespace fs = std::filesystem;

/// A folder that is removed at the end of the test.
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

inline std::vector<double> random_cells(std::size_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> temperature(-100, 1000);
  std::vector<double> cells(count);
  for (double& cell : cells) {
    cell = temperature(generator);
  }
  return cells;
}

inline void fill(Field& field, const std::vector<double>& cells) {
  for (std::size_t row = 0; row < field.shape().rows; ++row) {
    for (std::size_t column = 0; column < field.shape().columns; ++column) {
      field.at(row, column) = cells[row * field.shape().columns + column];
    }
  }
}

// Bit patterns, so that -0.0 differs from 0.0.
inline ::testing::AssertionResult same_bits(Field& field, const std::vector<double>& cells) {
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

}  // namespace heat
