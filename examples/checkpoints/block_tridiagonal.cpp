// What the BT benchmark of NAS writes with MPI-IO ("full"): a cube of cells with five numbers each, again after some time steps. The cube has q x q x q parts
// for q x q ranks; a rank has those of a diagonal, q of them, and writes them by one collective call of nested types. With a number of ranks that is no square, the first q x q
// have the parts, and the others take part without.
#include <cmath>
#include <vector>

#include "program.hpp"

namespace {

using namespace programs;

constexpr int numbers = 5;
constexpr int steps = 3;

struct Cube {
  int side = 0;
  int parts = 0;  // along a side

  int part_begin(int index) const { return side * index / parts; }
  int part_side(int index) const { return part_begin(index + 1) - part_begin(index); }
  std::uint64_t cells() const { return static_cast<std::uint64_t>(side) * side * side; }
};

Cube cube_of(const Job& job) {
  const auto cells = static_cast<double>(job.bytes) / (steps * numbers * sizeof(double));
  return {.side = static_cast<int>(std::cbrt(cells)), .parts = static_cast<int>(std::sqrt(job.ranks))};
}

struct Place {
  int z = 0;
  int y = 0;
  int x = 0;
};

// The parts of a rank: in each layer one, on a diagonal.
std::vector<Place> places_of(const Cube& cube, int rank) {
  std::vector<Place> places;
  for (int layer = 0; rank < cube.parts * cube.parts && layer < cube.parts; ++layer) {
    places.push_back(
        {layer, (rank / cube.parts + layer) % cube.parts, (rank % cube.parts + cube.parts - layer) % cube.parts});
  }
  return places;
}

template <class Use>
void for_each_cell(const Cube& cube, const Place& place, const Use& use) {
  for (int z = 0; z < cube.part_side(place.z); ++z) {
    for (int y = 0; y < cube.part_side(place.y); ++y) {
      for (int x = 0; x < cube.part_side(place.x); ++x) {
        const auto line =
            static_cast<std::uint64_t>(cube.part_begin(place.z) + z) * static_cast<std::uint64_t>(cube.side) +
            static_cast<std::uint64_t>(cube.part_begin(place.y) + y);
        use(z, y, x,
            line * static_cast<std::uint64_t>(cube.side) + static_cast<std::uint64_t>(cube.part_begin(place.x) + x));
      }
    }
  }
}

// In memory each part has two cells more at each side, as the solver needs them.
constexpr int border = 2;

struct Memory {
  std::vector<std::vector<double>> parts;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Datatype view = MPI_DATATYPE_NULL;
};

Memory memory_of(const Cube& cube, int rank, MPI_Datatype cell) {
  Memory memory;
  std::vector<int> lengths;
  std::vector<MPI_Aint> at;
  std::vector<MPI_Aint> nowhere;
  std::vector<MPI_Datatype> types;
  std::vector<MPI_Datatype> views;
  for (const Place& place : places_of(cube, rank)) {
    const int inner[3] = {cube.part_side(place.z), cube.part_side(place.y), cube.part_side(place.x)};
    const int whole[3] = {inner[0] + 2 * border, inner[1] + 2 * border, inner[2] + 2 * border};
    const int start[3] = {border, border, border};
    MPI_Type_create_subarray(3, whole, inner, start, MPI_ORDER_C, cell, &types.emplace_back());
    const int sizes[3] = {cube.side, cube.side, cube.side};
    const int place_start[3] = {cube.part_begin(place.z), cube.part_begin(place.y), cube.part_begin(place.x)};
    MPI_Type_create_subarray(3, sizes, inner, place_start, MPI_ORDER_C, cell, &views.emplace_back());
    auto& part = memory.parts.emplace_back(static_cast<std::size_t>(whole[0]) * static_cast<std::size_t>(whole[1]) *
                                               static_cast<std::size_t>(whole[2]) * numbers,
                                           -1);
    MPI_Get_address(part.data(), &at.emplace_back());
    nowhere.push_back(0);
    lengths.push_back(1);
  }
  const int count = static_cast<int>(types.size());
  MPI_Type_create_struct(count, lengths.data(), at.data(), types.data(), &memory.type);
  MPI_Type_create_struct(count, lengths.data(), nowhere.data(), views.data(), &memory.view);
  MPI_Type_commit(&memory.type);
  MPI_Type_commit(&memory.view);
  for (MPI_Datatype& type : types) {
    MPI_Type_free(&type);
  }
  for (MPI_Datatype& type : views) {
    MPI_Type_free(&type);
  }
  return memory;
}

void fill(const Cube& cube, int rank, int number, int step, Memory& memory) {
  const std::vector<Place> places = places_of(cube, rank);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int wide = cube.part_side(places[i].x) + 2 * border;
    const int high = cube.part_side(places[i].y) + 2 * border;
    for_each_cell(cube, places[i], [&](int z, int y, int x, std::uint64_t cell) {
      const auto at = static_cast<std::size_t>(((z + border) * high + y + border) * wide + x + border) * numbers;
      for (std::size_t n = 0; n < numbers; ++n) {
        memory.parts[i][at + n] = value_of(number, step, cell * numbers + n);
      }
    });
  }
}

void write(const Job& job, const std::string& path, int number) {
  const Cube cube = cube_of(job);
  MPI_Datatype cell = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(numbers, MPI_DOUBLE, &cell);
  MPI_Type_commit(&cell);
  Memory memory = memory_of(cube, job.rank, cell);
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, job.info, &file),
          "MPI_File_open");
  // A rank without parts has a view that is empty, and writes nothing.
  const bool has_part = !memory.parts.empty();
  succeed(MPI_File_set_view(file, 0, has_part ? cell : MPI_BYTE, has_part ? memory.view : MPI_BYTE, "native",
                            MPI_INFO_NULL),
          "MPI_File_set_view");
  MPI_Offset position = 0;
  MPI_Count bytes = 0;
  MPI_Type_size_x(memory.type, &bytes);
  for (int step = 0; step < steps; ++step) {
    fill(cube, job.rank, number, step, memory);
    succeed(MPI_File_write_at_all(file, position, MPI_BOTTOM, has_part ? 1 : 0, memory.type, MPI_STATUS_IGNORE),
            "MPI_File_write_at_all");
    position += bytes / static_cast<MPI_Count>(numbers * sizeof(double));
  }
  succeed(MPI_File_close(&file), "MPI_File_close");
  MPI_Type_free(&memory.type);
  MPI_Type_free(&memory.view);
  MPI_Type_free(&cell);
}

// By slabs: each rank reads what several have written.
void read(const Job& job, const std::string& path, int number) {
  const std::uint64_t cells = cube_of(job).cells();
  const Part part = part_of(cells * numbers, job.rank, job.ranks);
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, job.info, &file), "MPI_File_open");
  std::vector<double> data(part.count);
  for (int step = 0; step < steps; ++step) {
    const auto at =
        static_cast<MPI_Offset>((static_cast<std::uint64_t>(step) * cells * numbers + part.first) * sizeof(double));
    succeed(MPI_File_read_at_all(file, at, data.data(), static_cast<int>(part.count), MPI_DOUBLE, MPI_STATUS_IGNORE),
            "MPI_File_read_at_all");
    for (std::uint64_t i = 0; i < part.count; ++i) {
      check(data[i] == value_of(number, step, part.first + i), "comparing a step");
    }
  }
  MPI_File_close(&file);
}

}  // namespace

int main(int count, char** words) { return programs::run(count, words, write, read); }
