// Ranks that are killed by kills_test.py: `write FOLDER SEED` writes cells of a file at random until it is killed, `recover FOLDER SEED` opens and closes the file, and
// `verify FOLDER RANKS` looks at it without this library: each cell is as its last write that returned has left it, or as one that had begun since.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string_view>

#include "interpose_mpiio/staging_ranks.hpp"

namespace {

using namespace dovetail::test;

constexpr int cell_bytes = 1000;  // not a part of a page
constexpr int cells = 200;        // of each rank, in turn with those of the others
constexpr int most_at_once = 7;

// What a rank has written, in a file that is mapped: it survives the rank. kills_test.py knows that the first two fields come first.
struct Progress {
  std::atomic<std::uint32_t> writes;  // that have returned
  std::atomic<std::uint32_t> process;
  std::atomic<std::uint32_t> begun[cells];     // versions
  std::atomic<std::uint32_t> returned[cells];  // 0: never written
};

Progress& progress_of(const std::string& folder, int rank) {
  const std::string path = folder + "/progress." + std::to_string(rank);
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  check(descriptor >= 0 && ftruncate(descriptor, sizeof(Progress)) == 0, path);
  void* const mapped = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  check(mapped != MAP_FAILED, path);
  close(descriptor);
  return *static_cast<Progress*>(mapped);
}

void fill(std::span<char> cell, int rank, int index, std::uint32_t version) {
  std::mt19937_64 random((std::uint64_t{version} << 32) + static_cast<std::uint64_t>(rank * cells + index));
  for (char& each : cell) {
    each = static_cast<char>(random() % 255 + 1);  // never what a hole has
  }
}

MPI_File open_cells(const Ranks& ranks, const std::string& folder, std::mt19937_64& common) {
  const char* const flush[] = {"flush_immediate", "flush_onclose", "flush_none"};
  const Info info({{"e10_cache", "enable"},
                   {"e10_cache_path", folder + "/tier"},
                   {"e10_cache_flush_flag", flush[common() % 3]},
                   {"e10_cache_discard_flag", common() % 2 == 0 ? "enable" : "disable"}});
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, (folder + "/file").c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR, info.get(), &file),
          "MPI_File_open");
  MPI_Datatype cell = MPI_DATATYPE_NULL;
  MPI_Datatype in_turn = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(cell_bytes, MPI_CHAR, &cell);
  MPI_Type_create_resized(cell, 0, MPI_Aint{cell_bytes} * ranks.size, &in_turn);
  MPI_Type_commit(&in_turn);
  succeed(MPI_File_set_view(file, MPI_Offset{cell_bytes} * ranks.rank, MPI_CHAR, in_turn, "native", MPI_INFO_NULL),
          "MPI_File_set_view");
  MPI_Type_free(&cell);
  MPI_Type_free(&in_turn);
  return file;
}

void write_cells(const Ranks& ranks, MPI_File file, Progress& progress, std::mt19937_64& random, bool together) {
  const int count = static_cast<int>(random() % most_at_once) + 1;
  const int first = static_cast<int>(random() % (cells - most_at_once));
  std::vector<char> data(static_cast<std::size_t>(count) * cell_bytes);
  for (int i = 0; i < count; ++i) {
    fill(std::span(data).subspan(static_cast<std::size_t>(i) * cell_bytes, cell_bytes), ranks.rank, first + i,
         ++progress.begun[first + i]);
  }
  const MPI_Offset offset = MPI_Offset{first} * cell_bytes;
  const auto call = together ? MPI_File_write_at_all : MPI_File_write_at;
  succeed(call(file, offset, data.data(), count * cell_bytes, MPI_CHAR, MPI_STATUS_IGNORE), "writing");
  for (int i = first; i < first + count; ++i) {
    progress.returned[i] = progress.begun[i].load();
  }
  ++progress.writes;
}

void write_job(const Ranks& ranks, const std::string& folder, std::uint64_t seed) {
  Progress& progress = progress_of(folder, ranks.rank);
  progress.process = static_cast<std::uint32_t>(getpid());
  std::mt19937_64 common(seed);  // what all ranks do together
  std::mt19937_64 own(seed + 1 + static_cast<std::uint64_t>(ranks.rank));
  MPI_File file = open_cells(ranks, folder, common);
  while (true) {
    const std::uint64_t what = common() % 40;
    if (what == 0) {
      succeed(MPI_File_close(&file), "MPI_File_close");
      file = open_cells(ranks, folder, common);
    } else if (what < 4) {
      succeed(MPI_File_sync(file), "MPI_File_sync");
    } else if (what < 12) {
      write_cells(ranks, file, progress, own, true);
    } else {
      for (int i = 0; i < 10; ++i) {
        write_cells(ranks, file, progress, own, false);
      }
    }
  }
}

void recover_job(const Ranks& ranks, const std::string& folder, std::uint64_t seed) {
  progress_of(folder, ranks.rank).process = static_cast<std::uint32_t>(getpid());
  std::mt19937_64 common(seed);
  MPI_File file = open_cells(ranks, folder, common);
  succeed(MPI_File_close(&file), "MPI_File_close");
}

void verify_job(const std::string& folder, int count) {
  const std::vector<char> file = contents_of(folder + "/file");
  for (int rank = 0; rank < count; ++rank) {
    Progress& progress = progress_of(folder, rank);
    for (int index = 0; index < cells; ++index) {
      std::vector<char> found(cell_bytes);  // what is behind the end of the file reads as zeros
      const std::size_t at =
          (static_cast<std::size_t>(index) * static_cast<std::size_t>(count) + static_cast<std::size_t>(rank)) *
          cell_bytes;
      const std::size_t there = std::clamp<std::size_t>(file.size(), at, at + cell_bytes) - at;
      std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(std::min(at, file.size())), there, found.begin());
      std::uint32_t version = progress.returned[index];
      const auto is = [&](std::uint32_t wanted) {
        std::vector<char> expected(cell_bytes);
        if (wanted != 0) {
          fill(expected, rank, index, wanted);
        }
        return found == expected;
      };
      while (version < progress.begun[index] && !is(version)) {
        ++version;
      }
      check(is(version), "cell " + std::to_string(index) + " of rank " + std::to_string(rank) + ": version " +
                             std::to_string(progress.returned[index]) + " was acknowledged, " +
                             std::to_string(progress.begun[index]) + " begun, and none of them is there");
      progress.begun[index] = version;
      progress.returned[index] = version;
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  const std::string_view job = arguments[1];
  const std::uint64_t number = std::strtoull(arguments[3], nullptr, 10);
  if (job == "verify") {
    verify_job(arguments[2], static_cast<int>(number));
  } else {
    (job == "write" ? write_job : recover_job)(ranks, arguments[2], number);
  }
  return 0;
}
