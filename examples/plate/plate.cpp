// Heat spreads over a plate whose rows are divided among ranks of MPI. Checkpoints are collective writes by MPI-IO. The program knows nothing of Dovetail:
//   PROGRAM FOLDER CELLS STEPS EVERY
// A plate of CELLS x CELLS numbers, STEPS steps, a checkpoint after each EVERY of them. `FOLDER/latest` names the last checkpoint that was closed; a run that
// finds it goes on from there. Two checkpoint files take turns, so that one is always whole. Rank 0 prints the times of what it does.
#include <fcntl.h>
#include <mpi.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

void check(bool holds, const std::string& what) {
  if (!holds) {
    std::fprintf(stderr, "plate: %s has failed\n", what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

void succeed(int code, const std::string& call) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (code != MPI_SUCCESS) {
    MPI_Error_string(code, text.data(), &length);
  }
  check(code == MPI_SUCCESS, call + " (" + text.data() + ")");
}

// Seconds since 1970, so that others can set it beside what they have seen.
double now() {
  timeval time{};
  gettimeofday(&time, nullptr);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

struct Plate {
  int rank = 0;
  int ranks = 1;
  int cells = 0;  ///< In a row, and rows in all.
  int first = 0;  ///< Row of this rank.
  int rows = 0;
  /// Rows of this rank, with one more above and one below.
  std::vector<double> now, next;

  [[nodiscard]] std::size_t at(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(cells) + static_cast<std::size_t>(column);
  }
};

Plate plate_of(int cells) {
  Plate plate;
  plate.cells = cells;
  MPI_Comm_rank(MPI_COMM_WORLD, &plate.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &plate.ranks);
  const auto begin_of = [&](int rank) {
    return static_cast<int>(static_cast<std::int64_t>(cells) * rank / plate.ranks);
  };
  plate.first = begin_of(plate.rank);
  plate.rows = begin_of(plate.rank + 1) - plate.first;
  plate.now.resize(plate.at(plate.rows + 2, 0));
  // Stripes that are warm and cold; the edges of the plate keep their temperature.
  for (int row = 0; row < plate.rows + 2; ++row) {
    for (int column = 0; column < cells; ++column) {
      plate.now[plate.at(row, column)] = (plate.first + row) / 64 % 2 == column / 96 % 2 ? 100.0 : 0.0;
    }
  }
  plate.next = plate.now;
  return plate;
}

void step(Plate& plate) {
  const int above = plate.rank == 0 ? MPI_PROC_NULL : plate.rank - 1;
  const int below = plate.rank + 1 == plate.ranks ? MPI_PROC_NULL : plate.rank + 1;
  double* cells = plate.now.data();
  MPI_Sendrecv(cells + plate.at(1, 0), plate.cells, MPI_DOUBLE, above, 0, cells + plate.at(plate.rows + 1, 0),
               plate.cells, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(cells + plate.at(plate.rows, 0), plate.cells, MPI_DOUBLE, below, 1, cells, plate.cells, MPI_DOUBLE,
               above, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int row = 1; row <= plate.rows; ++row) {
    const int whole = plate.first + row - 1;
    if (whole == 0 || whole == plate.cells - 1) {
      continue;
    }
    for (int column = 1; column < plate.cells - 1; ++column) {
      plate.next[plate.at(row, column)] =
          0.25 * (plate.now[plate.at(row - 1, column)] + plate.now[plate.at(row, column - 1)] +
                  plate.now[plate.at(row, column + 1)] + plate.now[plate.at(row + 1, column)]);
    }
  }
  std::swap(plate.now, plate.next);
}

// The rows of this rank, as its view of the file.
MPI_File open_checkpoint(const Plate& plate, const std::string& path, int mode) {
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), mode, MPI_INFO_NULL, &file), "MPI_File_open of " + path);
  const auto begin = static_cast<MPI_Offset>(plate.at(plate.first, 0) * sizeof(double));
  succeed(MPI_File_set_view(file, begin, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL), "MPI_File_set_view");
  return file;
}

int count_of(const Plate& plate) { return plate.rows * plate.cells; }

void write_checkpoint(const Plate& plate, const std::string& folder, int number, int done) {
  const std::string name = "checkpoint." + std::to_string(number % 2);
  MPI_File file = open_checkpoint(plate, folder + "/" + name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  const double* rows = plate.now.data() + plate.at(1, 0);
  succeed(MPI_File_write_all(file, rows, count_of(plate), MPI_DOUBLE, MPI_STATUS_IGNORE), "MPI_File_write_all");
  succeed(MPI_File_close(&file), "MPI_File_close");
  if (plate.rank != 0) {
    return;
  }
  const std::string text = name + " " + std::to_string(number) + " " + std::to_string(done) + "\n";
  const std::string latest = folder + "/latest";
  const int descriptor = open((latest + ".new").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  check(descriptor >= 0 && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
            fsync(descriptor) == 0 && close(descriptor) == 0 && rename((latest + ".new").c_str(), latest.c_str()) == 0,
        "writing " + latest);
}

// The number of the checkpoint to go on from, and the steps that it has. Of none: 0, 0.
std::pair<int, int> read_checkpoint(Plate& plate, const std::string& folder) {
  std::array<int, 2> found{};
  std::array<char, 64> name{};
  if (plate.rank == 0) {
    if (std::FILE* file = std::fopen((folder + "/latest").c_str(), "re")) {
      check(std::fscanf(file, "%63s %d %d", name.data(), &found[0], &found[1]) == 3, "reading " + folder + "/latest");
      std::fclose(file);
    }
  }
  MPI_Bcast(found.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (found[0] != 0) {
    MPI_File file = open_checkpoint(plate, folder + "/" + name.data(), MPI_MODE_RDONLY);
    double* rows = plate.now.data() + plate.at(1, 0);
    MPI_Status status;
    int count = 0;
    succeed(MPI_File_read_all(file, rows, count_of(plate), MPI_DOUBLE, &status), "MPI_File_read_all");
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    check(count == count_of(plate), "reading all of " + folder + "/" + name.data());
    succeed(MPI_File_close(&file), "MPI_File_close");
    plate.next = plate.now;
  }
  return {found[0], found[1]};
}

void print_processes(const Plate& plate) {
  int own = getpid();
  std::vector<int> all(static_cast<std::size_t>(plate.ranks));
  MPI_Gather(&own, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (plate.rank == 0) {
    std::printf("processes");
    for (const int process : all) {
      std::printf(" %d", process);
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int count, char** words) {
  MPI_Init(&count, &words);
  const int cells = count == 5 ? std::atoi(words[2]) : 0;
  const int steps = count == 5 ? std::atoi(words[3]) : 0;
  const int every = count == 5 ? std::atoi(words[4]) : 0;
  Plate plate = plate_of(cells);
  if (cells < plate.ranks || cells > 30'000 || steps < 1 || every < 1) {
    if (plate.rank == 0) {
      std::fprintf(stderr, "usage: plate FOLDER CELLS STEPS EVERY, with 30000 cells at most, and one for each rank\n");
    }
    MPI_Finalize();
    return 2;
  }
  const std::string folder = words[1];
  print_processes(plate);
  const auto tell = [&](const std::string& what, double begin) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (plate.rank == 0) {
      std::printf("%s %.6f %.6f\n", what.c_str(), begin, now());
      std::fflush(stdout);
    }
  };
  double begin = now();
  auto [number, done] = read_checkpoint(plate, folder);
  tell("begin " + std::to_string(done), begin);
  while (done < steps) {
    begin = now();
    const int until = done + std::min(every, steps - done);
    for (; done < until; ++done) {
      step(plate);
    }
    tell("compute " + std::to_string(done), begin);
    begin = now();
    write_checkpoint(plate, folder, ++number, done);
    tell("checkpoint " + std::to_string(done), begin);
  }
  begin = now();
  MPI_Finalize();
  if (plate.rank == 0) {
    std::printf("end %d %.6f %.6f\n", done, begin, now());
  }
  return 0;
}
