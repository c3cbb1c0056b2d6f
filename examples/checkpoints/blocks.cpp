// coll_perf of ROMIO: a cube of which each rank has a block, as a distributed array, written by one collective call and read by another.
#include <algorithm>
#include <array>
#include <vector>

#include "program.hpp"

namespace {

using namespace programs;

// A multiple of what most numbers of ranks have as sides of their grid.
int side_of(const Job& job) {
  int side = 12;
  while (static_cast<long>(side + 12) * (side + 12) * (side + 12) * 4 <= job.bytes) {
    side += 12;
  }
  return side;
}

MPI_File open_blocks(const Job& job, const std::string& path, int mode, int side, int& cells) {
  std::array<int, 3> grid{};
  MPI_Dims_create(job.ranks, 3, grid.data());
  const std::array<int, 3> sides = {side, side, side};
  const std::array<int, 3> ways = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
  const std::array<int, 3> usual = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(job.ranks, job.rank, 3, sides.data(), ways.data(), usual.data(), grid.data(), MPI_ORDER_C,
                         MPI_INT, &block);
  MPI_Type_commit(&block);
  int bytes = 0;
  MPI_Type_size(block, &bytes);
  cells = bytes / 4;
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, job.info, &file), "MPI_File_open");
  succeed(MPI_File_set_view(file, 0, MPI_INT, block, "native", MPI_INFO_NULL), "MPI_File_set_view");
  MPI_Type_free(&block);
  return file;
}

// Of the cells of this rank's block, in their order: the number in the cube.
std::vector<int> block_of(const Job& job, int side, int number) {
  std::array<int, 3> grid{};
  MPI_Dims_create(job.ranks, 3, grid.data());
  std::array<int, 3> place{};
  for (int left = job.rank, i = 2; i >= 0; --i) {
    place[static_cast<std::size_t>(i)] = left % grid[static_cast<std::size_t>(i)];
    left /= grid[static_cast<std::size_t>(i)];
  }
  std::array<int, 3> begin{};
  std::array<int, 3> end{};
  for (std::size_t i = 0; i < 3; ++i) {
    const int each = (side + grid[i] - 1) / grid[i];
    begin[i] = std::min(side, each * place[i]);
    end[i] = std::min(side, begin[i] + each);
  }
  std::vector<int> cells;
  for (int z = begin[0]; z < end[0]; ++z) {
    for (int y = begin[1]; y < end[1]; ++y) {
      for (int x = begin[2]; x < end[2]; ++x) {
        const auto index = static_cast<std::uint64_t>((z * side + y) * side + x);
        cells.push_back(static_cast<int>(value_of(number, 0, index)));
      }
    }
  }
  return cells;
}

void write(const Job& job, const std::string& path, int number) {
  const int side = side_of(job);
  int count = 0;
  MPI_File file = open_blocks(job, path, MPI_MODE_CREATE | MPI_MODE_RDWR, side, count);
  const std::vector<int> cells = block_of(job, side, number);
  check(static_cast<int>(cells.size()) == count, "making a block");
  succeed(MPI_File_write_all(file, cells.data(), count, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_all");
  // What a rank has written it sees at once.
  std::vector<int> back(cells.size());
  succeed(MPI_File_read_at_all(file, 0, back.data(), count, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_read_at_all");
  check(back == cells, "comparing a block");
  succeed(MPI_File_close(&file), "MPI_File_close");
}

void read(const Job& job, const std::string& path, int number) {
  const int side = side_of(job);
  int count = 0;
  MPI_File file = open_blocks(job, path, MPI_MODE_RDONLY, side, count);
  std::vector<int> cells(static_cast<std::size_t>(count));
  succeed(MPI_File_read_all(file, cells.data(), count, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_read_all");
  check(cells == block_of(job, side, number), "comparing a block");
  MPI_File_close(&file);
}

}  // namespace

int main(int count, char** words) { return programs::run(count, words, write, read); }
