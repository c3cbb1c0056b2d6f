// Patterns of IOR with MPI-IO: a shared file of segments, in each of which every rank has a block that it writes by several transfers, first by collective calls,
// then by independent ones; and a file for each rank.
#include <vector>

#include "program.hpp"

namespace {

using namespace programs;

constexpr int segments = 4;        // a half of them by collective calls
constexpr int transfers = 8;       // of a block
constexpr int readers_parts = 60;  // for any number of ranks up to 6

struct Shape {
  std::uint64_t transfer = 0;  // in ints
  int writers = 4;
};

Shape shape_of(const Job& job) {
  Shape shape;
  shape.transfer =
      static_cast<std::uint64_t>(job.bytes) / (4 * segments * transfers * static_cast<unsigned>(shape.writers));
  shape.transfer -= shape.transfer % readers_parts;
  return shape;
}

std::vector<int> ints_of(int number, std::uint64_t first, std::uint64_t count) {
  std::vector<int> ints(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    ints[i] = static_cast<int>(value_of(number, 0, first + i));
  }
  return ints;
}

void write_own_file(const Job& job, const std::string& path, int number, const Shape& shape) {
  const std::vector<int> ints = ints_of(number + 1 + job.rank, 0, shape.transfer);
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_SELF, (path + "." + std::to_string(job.rank)).c_str(),
                        MPI_MODE_CREATE | MPI_MODE_WRONLY, job.info, &file),
          "MPI_File_open");
  succeed(MPI_File_write(file, ints.data(), static_cast<int>(ints.size()), MPI_INT, MPI_STATUS_IGNORE),
          "MPI_File_write");
  succeed(MPI_File_close(&file), "MPI_File_close");
}

void write(const Job& job, const std::string& path, int number) {
  const Shape shape = shape_of(job);
  check(job.ranks == shape.writers, "writing with 4 ranks");
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, job.info, &file),
          "MPI_File_open");
  for (int segment = 0; segment < segments; ++segment) {
    for (int i = 0; i < transfers; ++i) {
      const auto before = static_cast<std::uint64_t>((segment * shape.writers + job.rank) * transfers + i);
      const std::vector<int> ints = ints_of(number, before * shape.transfer, shape.transfer);
      const auto at = static_cast<MPI_Offset>(before * shape.transfer * 4);
      const auto count = static_cast<int>(ints.size());
      succeed(segment < segments / 2 ? MPI_File_write_at_all(file, at, ints.data(), count, MPI_INT, MPI_STATUS_IGNORE)
                                     : MPI_File_write_at(file, at, ints.data(), count, MPI_INT, MPI_STATUS_IGNORE),
              "writing");
    }
  }
  succeed(MPI_File_close(&file), "MPI_File_close");
  write_own_file(job, path, number, shape);
}

void read(const Job& job, const std::string& path, int number) {
  const Shape shape = shape_of(job);
  const std::uint64_t all = shape.transfer * segments * transfers * static_cast<unsigned>(shape.writers);
  const Part part = part_of(all, job.rank, job.ranks);
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, job.info, &file), "MPI_File_open");
  std::vector<int> ints(part.count);
  succeed(MPI_File_read_at(file, static_cast<MPI_Offset>(part.first * 4), ints.data(), static_cast<int>(part.count),
                           MPI_INT, MPI_STATUS_IGNORE),
          "MPI_File_read_at");
  check(ints == ints_of(number, part.first, part.count), "comparing a part");
  MPI_File_close(&file);
  for (int writer = job.rank; writer < shape.writers; writer += job.ranks) {
    succeed(
        MPI_File_open(MPI_COMM_SELF, (path + "." + std::to_string(writer)).c_str(), MPI_MODE_RDONLY, job.info, &file),
        "MPI_File_open");
    std::vector<int> own(shape.transfer);
    succeed(MPI_File_read(file, own.data(), static_cast<int>(own.size()), MPI_INT, MPI_STATUS_IGNORE), "MPI_File_read");
    check(own == ints_of(number + 1 + writer, 0, shape.transfer), "comparing a file of one rank");
    MPI_File_close(&file);
  }
}

}  // namespace

int main(int count, char** words) { return programs::run(count, words, write, read); }
