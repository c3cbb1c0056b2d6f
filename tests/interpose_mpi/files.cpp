// MPI's calls of files in tasks: one worker, which runs other tasks while another thread is held. Argument: a folder that all ranks see.
#include <fcntl.h>
#include <unistd.h>

#include <numeric>
#include <string>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "interpose_mpi/beside.hpp"
#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::beside_another_task;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;

constexpr int numbers = 10'000;
constexpr MPI_Offset part_size = numbers * sizeof(int);

std::vector<int> part_of(int rank, int first) {
  std::vector<int> part(numbers);
  std::iota(part.begin(), part.end(), first + 100'000 * rank);
  return part;
}

// As the operating system sees it.
std::vector<int> contents_of(const std::string& path, std::size_t count) {
  std::vector<int> contents(count + 1);
  const int file = open(path.c_str(), O_RDONLY);
  const ssize_t size = pread(file, contents.data(), contents.size() * sizeof(int), 0);
  close(file);
  contents.resize(size < 0 ? 0 : static_cast<std::size_t>(size) / sizeof(int));
  return contents;
}

std::vector<int> all_parts(const Ranks& ranks, int first) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks.size; ++rank) {
    const std::vector<int> part = part_of(rank, first);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

int count_of(const MPI_Status& status) {
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  return count;
}

class File {
 public:
  File(const Ranks& ranks, std::string path) : ranks_(ranks), path_(std::move(path)) {
    beside_another_task(ranks, [&] {
      const int code =
          MPI_File_open(MPI_COMM_WORLD, path_.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file_);
      check(code == MPI_SUCCESS, "MPI_File_open");
    });
  }
  ~File() {
    beside_another_task(ranks_, [&] { MPI_File_close(&file_); });
    check(file_ == MPI_FILE_NULL, "MPI_File_close");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  MPI_File get() const { return file_; }

 private:
  const Ranks& ranks_;
  const std::string path_;
  MPI_File file_ = MPI_FILE_NULL;
};

void at_offsets(const Ranks& ranks, const std::string& path) {
  {
    const File file(ranks, path);
    const std::vector<int> part = part_of(ranks.rank, 1);
    MPI_Status status;
    beside_another_task(ranks, [&] {
      const int code =
          MPI_File_write_at_all(file.get(), ranks.rank * part_size, part.data(), numbers, MPI_INT, &status);
      check(code == MPI_SUCCESS && count_of(status) == numbers, "MPI_File_write_at_all");
      MPI_File_sync(file.get());
    });
    for (const int atomicity : {1, 0}) {
      beside_another_task(ranks, [&] {
        int present = -1;
        check(MPI_File_set_atomicity(file.get(), atomicity) == MPI_SUCCESS, "MPI_File_set_atomicity");
        check(MPI_File_get_atomicity(file.get(), &present) == MPI_SUCCESS && present == atomicity,
              "what MPI_File_set_atomicity has set");
      });
    }
    beside_another_task(ranks, [&] {
      std::vector<int> back(numbers);
      MPI_File_read_at_all(file.get(), next_of(ranks) * part_size, back.data(), numbers, MPI_INT, &status);
      check(count_of(status) == numbers && back == part_of(next_of(ranks), 1), "MPI_File_read_at_all");
      MPI_File_read_at(file.get(), previous_of(ranks) * part_size, back.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
      check(back == part_of(previous_of(ranks), 1), "MPI_File_read_at");
    });
  }
  check(contents_of(path, static_cast<std::size_t>(ranks.size) * numbers) == all_parts(ranks, 1),
        "what lies in the file");
}

// Each rank sees its own part only.
void with_a_view(const Ranks& ranks, const std::string& path) {
  {
    const File file(ranks, path);
    const std::vector<int> part = part_of(ranks.rank, 2);
    beside_another_task(ranks, [&] {
      MPI_File_set_view(file.get(), ranks.rank * part_size, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
      MPI_File_write_all(file.get(), part.data(), numbers / 2, MPI_INT, MPI_STATUS_IGNORE);
      MPI_File_write(file.get(), part.data() + numbers / 2, numbers / 2, MPI_INT, MPI_STATUS_IGNORE);
    });
  }
  check(contents_of(path, static_cast<std::size_t>(ranks.size) * numbers) == all_parts(ranks, 2),
        "what was written through a view");
}

void with_a_shared_pointer(const Ranks& ranks, const std::string& path) {
  {
    const File file(ranks, path);
    const std::vector<int> part = part_of(ranks.rank, 3);
    beside_another_task(ranks,
                        [&] { MPI_File_write_ordered(file.get(), part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE); });
    MPI_Offset position = -1;
    Runtime runtime(Options{.workers = 1});
    runtime.spawn([&] { MPI_File_get_position_shared(file.get(), &position); }).get();
    check(position == ranks.size * part_size, "MPI_File_get_position_shared");
  }
  check(contents_of(path, static_cast<std::size_t>(ranks.size) * numbers) == all_parts(ranks, 3),
        "MPI_File_write_ordered");
}

void many_at_once(const Ranks& ranks, const std::string& path) {
  constexpr int pieces = 20;
  constexpr int piece = numbers / pieces;
  const std::vector<int> part = part_of(ranks.rank, 4);
  {
    const File file(ranks, path);
    Runtime runtime(Options{.workers = 1, .io_executors = 3});
    for (int i = 0; i < pieces; ++i) {
      runtime.spawn([&, i] {
        const MPI_Offset offset =
            ranks.rank * part_size + static_cast<MPI_Offset>(i * piece * static_cast<int>(sizeof(int)));
        MPI_File_write_at(file.get(), offset, part.data() + i * piece, piece, MPI_INT, MPI_STATUS_IGNORE);
      });
    }
    runtime.wait();
  }
  check(contents_of(path, static_cast<std::size_t>(ranks.size) * numbers) == all_parts(ranks, 4),
        "pieces of many tasks");
}

// A file's errors are returned, in tasks as elsewhere.
void errors(const std::string& path) {
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([&] {
        MPI_File file = MPI_FILE_NULL;
        const int code =
            MPI_File_open(MPI_COMM_SELF, (path + "/no/such").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        int its_class = MPI_SUCCESS;
        MPI_Error_class(code, &its_class);
        check(code != MPI_SUCCESS && its_class != MPI_ERR_UNKNOWN, "a file that is not there was opened");
      })
      .get();
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  const std::string base = arguments[1];
  int number = 0;
  for (const auto& test : {at_offsets, with_a_view, with_a_shared_pointer, many_at_once}) {
    const std::string path = base + "." + std::to_string(number++);
    if (ranks.rank == 0) {
      unlink(path.c_str());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    test(ranks, path);
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks.rank == 0) {
      unlink(path.c_str());
    }
  }
  errors(base);
  return 0;
}
