// A program of ranks that writes a file by MPI-IO, or reads one that such a program has left, and knows nothing of Dovetail. Rank 0 prints the seconds until
// all ranks have opened it, and until they have done the rest.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void check(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s has failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

// In parts, so that a rank needs little memory.
constexpr int part_bytes = 8 << 20;

void fill(std::vector<char>& part, int rank, int number) {
  for (std::size_t i = 0; i < part.size(); i += 4096) {
    part[i] = static_cast<char>(1 + (rank * 31 + number * 7 + static_cast<int>(i / 4096)) % 251);
  }
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const std::string what = count == 4 ? words[2] : "";
  if (what != "write" && what != "read") {
    std::fprintf(stderr, "usage: restart FILE write|read PARTS; each rank has so many of 8 MiB\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int parts = std::atoi(words[3]);
  const bool reads = what == "read";
  std::vector<char> part(part_bytes);
  std::vector<char> expected(part_bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  MPI_File file = MPI_FILE_NULL;
  const int mode = reads ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_WRONLY;
  check(MPI_File_open(MPI_COMM_WORLD, words[1], mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "MPI_File_open");
  MPI_Barrier(MPI_COMM_WORLD);
  const double opened = MPI_Wtime();
  for (int number = 0; number < parts; ++number) {
    const MPI_Offset at = (static_cast<MPI_Offset>(rank) * parts + number) * part_bytes;
    fill(expected, rank, number);
    const int code = reads ? MPI_File_read_at(file, at, part.data(), part_bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                           : MPI_File_write_at(file, at, expected.data(), part_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    check(code == MPI_SUCCESS && (!reads || part == expected), what.c_str());
  }
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  const double done = MPI_Wtime();
  MPI_Finalize();
  if (rank == 0) {
    std::printf("%.6f %.6f\n", opened - begin, done - opened);
  }
  return 0;
}
