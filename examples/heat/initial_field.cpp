#include "initial_field.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace heat {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little endian and read as they are");

constexpr std::array<char, 8> field_magic{'H', 'E', 'A', 'T', 'F', 'L', 'D', '1'};
constexpr std::uint64_t largest_field_side = std::uint64_t{1} << 20;

struct FileHeader {
  std::array<char, 8> field_magic;
  std::uint64_t rows;
  std::uint64_t columns;
};

struct Raster {
  std::size_t rows;
  std::size_t columns;
  std::vector<double> cells;

  double at(std::size_t row, std::size_t column) const { return cells[row * columns + column]; }
};

Raster read_raster(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw BadInput(path + ": cannot be opened: " + std::strerror(errno));
  }
  FileHeader header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!file || header.field_magic != field_magic) {
    throw BadInput(path + ": is not a field file (make one with prepare_field.py)");
  }
  if (header.rows < 2 || header.columns < 2 || header.rows > largest_field_side ||
      header.columns > largest_field_side) {
    throw BadInput(path + ": says that it has " + std::to_string(header.rows) + " x " + std::to_string(header.columns) +
                   " cells, which cannot be");
  }
  const std::uint64_t expected = header.rows * header.columns * sizeof(double);
  // Before the memory is taken, so that a wrong header cannot ask for all of it.
  file.seekg(0, std::ios::end);
  const auto present = static_cast<std::uint64_t>(file.tellg()) - sizeof header;
  if (!file || present != expected) {
    throw BadInput(path + ": has " + std::to_string(present) + " bytes of cells and not " + std::to_string(expected) +
                   ", as its header says");
  }
  file.seekg(sizeof header);
  Raster raster{header.rows, header.columns, std::vector<double>(header.rows * header.columns)};
  file.read(reinterpret_cast<char*>(raster.cells.data()), static_cast<std::streamsize>(expected));
  if (!file) {
    throw BadInput(path + ": cannot be read: " + std::strerror(errno));
  }
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(raster.cells, finite)) {
    throw BadInput(path + ": holds values that are not finite");
  }
  return raster;
}

// Corners map onto corners.
double position(std::size_t index, std::size_t count, std::size_t source) {
  return static_cast<double>(index) * static_cast<double>(source - 1) / static_cast<double>(count - 1);
}

double interpolate(const Raster& raster, double row, double column) {
  const std::size_t top = std::min(static_cast<std::size_t>(row), raster.rows - 2);
  const std::size_t left = std::min(static_cast<std::size_t>(column), raster.columns - 2);
  const double down = row - static_cast<double>(top);
  const double across = column - static_cast<double>(left);
  const double upper = raster.at(top, left) * (1 - across) + raster.at(top, left + 1) * across;
  const double lower = raster.at(top + 1, left) * (1 - across) + raster.at(top + 1, left + 1) * across;
  return upper * (1 - down) + lower * down;
}

}  // namespace

Field load_initial_field(const std::string& path, const std::optional<Size>& size, std::size_t block,
                         const PartOf& part_of) {
  const Raster raster = read_raster(path);
  const Size wanted = size.value_or(Size{raster.rows, raster.columns});
  const Part part = part_of(Shape{wanted.rows, wanted.columns, block});
  Field field(part.shape());
  for (const Block& place : field.blocks()) {
    double* cell = field.cells(place);
    for (std::size_t row = 0; row < place.rows; ++row) {
      const double source_row = position(part.first_row() + place.row * block + row, wanted.rows, raster.rows);
      for (std::size_t column = 0; column < place.columns; ++column) {
        const double source_column = position(place.column * block + column, wanted.columns, raster.columns);
        *cell++ = interpolate(raster, source_row, source_column);
      }
    }
  }
  return field;
}

}  // namespace heat
