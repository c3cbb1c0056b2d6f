// A program of ranks that computes and writes files by MPI-IO, and knows nothing of Dovetail. Rank 0 prints the seconds for each file in which it does not
// compute, and those in all.
#include <mpi.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct Shape {
  int rank = 0;
  int ranks = 1;
  long bytes = 0;  // of a file
};

void check(int error, const char* call) {
  if (error != MPI_SUCCESS) {
    std::fprintf(stderr, "%s has failed\n", call);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

// What each byte is depends on the file and on where it lies for its rank.
std::vector<char> data_of(const Shape& shape, int file) {
  std::vector<char> data(static_cast<std::size_t>(shape.bytes / shape.ranks));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<char>(i * 31 + i / 4096 + static_cast<std::size_t>(file * 7 + shape.rank * 13));
  }
  return data;
}

// Blocks of a cube, one for each rank, by one collective call.
void write_blocks(MPI_File file, const Shape& shape, const std::vector<char>& data) {
  std::array<int, 3> dims{};
  check(MPI_Dims_create(shape.ranks, 3, dims.data()), "MPI_Dims_create");
  // Of cells of 64 bytes.
  std::array<int, 3> sizes{1, 1, 1};
  for (long cells = 1, i = 0; cells < shape.bytes / 64; cells *= 2, ++i) {
    sizes[static_cast<std::size_t>(i % 3)] *= 2;
  }
  std::array<int, 3> part{};
  std::array<int, 3> start{};
  int left = shape.rank;
  for (std::size_t i = 3; i-- > 0;) {
    part[i] = sizes[i] / dims[i];
    start[i] = left % dims[i] * part[i];
    left /= dims[i];
  }
  MPI_Datatype cell = MPI_DATATYPE_NULL;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(64, MPI_BYTE, &cell);
  MPI_Type_create_subarray(3, sizes.data(), part.data(), start.data(), MPI_ORDER_C, cell, &block);
  MPI_Type_commit(&cell);
  MPI_Type_commit(&block);
  check(MPI_File_set_view(file, 0, cell, block, "native", MPI_INFO_NULL), "MPI_File_set_view");
  check(MPI_File_write_all(file, data.data(), part[0] * part[1] * part[2], cell, MPI_STATUS_IGNORE),
        "MPI_File_write_all");
  MPI_Type_free(&block);
  MPI_Type_free(&cell);
}

// Pieces of 4 KiB in turn, each by a call of its own.
void write_pieces(MPI_File file, const Shape& shape, const std::vector<char>& data) {
  constexpr int piece = 4096;
  for (long at = 0; at + piece <= static_cast<long>(data.size()); at += piece) {
    const MPI_Offset to = static_cast<MPI_Offset>(at) * shape.ranks + static_cast<MPI_Offset>(shape.rank) * piece;
    check(MPI_File_write_at(file, to, data.data() + at, piece, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write_at");
  }
}

// One segment for each rank, behind each other.
void write_segments(MPI_File file, const Shape& shape, const std::vector<char>& data) {
  const MPI_Offset to = static_cast<MPI_Offset>(data.size()) * shape.rank;
  check(MPI_File_write_at_all(file, to, data.data(), static_cast<int>(data.size()), MPI_BYTE, MPI_STATUS_IGNORE),
        "MPI_File_write_at_all");
}

void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  if (count != 6 || !std::has_single_bit(static_cast<unsigned long>(std::atol(words[4])))) {
    std::fprintf(
        stderr,
        "usage: collective FOLDER blocks|pieces|segments FILES MEBIBYTES COMPUTE_SECONDS; MEBIBYTES is a power of 2\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Shape shape{.bytes = std::atol(words[4]) << 20};
  MPI_Comm_rank(MPI_COMM_WORLD, &shape.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &shape.ranks);
  const std::string pattern = words[2];
  const int files = std::atoi(words[3]);
  double waited = 0;
  const double begin = MPI_Wtime();
  for (int number = 0; number < files; ++number) {
    const std::vector<char> data = data_of(shape, number);
    compute(std::atof(words[5]));
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = MPI_Wtime();
    const std::string path = std::string(words[1]) + "/file" + std::to_string(number);
    MPI_File file = MPI_FILE_NULL;
    check(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
          "MPI_File_open");
    (pattern == "blocks" ? write_blocks : pattern == "pieces" ? write_pieces : write_segments)(file, shape, data);
    check(MPI_File_close(&file), "MPI_File_close");
    MPI_Barrier(MPI_COMM_WORLD);
    waited += MPI_Wtime() - before;
  }
  // The drains of the last files end here, where there are any.
  const int rank = shape.rank;
  const double computed = MPI_Wtime() - begin;
  MPI_Finalize();
  if (rank == 0) {
    std::printf("%.6f %.6f\n", waited / files, computed);
  }
  return 0;
}
