// Jobs for jobs_test.py: `write`, `read`, `checkpoints` or `failing`, and a folder. The first two give hints; the others are programs that know of none.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "interpose_mpiio/staging_ranks.hpp"

namespace {

using namespace dovetail::test;

constexpr int bytes = 100'000;
constexpr int usual_mode = MPI_MODE_CREATE | MPI_MODE_RDWR;

std::vector<char> part_of(int rank, int turn) {
  return std::vector<char>(bytes, static_cast<char>('a' + 4 * turn + rank));
}

MPI_File open_file(const std::string& path, MPI_Info info = MPI_INFO_NULL) {
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), usual_mode, info, &file), "MPI_File_open");
  return file;
}

void write_part(const Ranks& ranks, MPI_File file, int turn) {
  const std::vector<char> part = part_of(ranks.rank, turn);
  succeed(MPI_File_write_at_all(file, MPI_Offset{ranks.rank} * bytes, part.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE),
          "writing");
}

bool is_whole(const Ranks& ranks, const std::string& path, int turn) {
  std::vector<char> all;
  for (int rank = 0; rank < ranks.size; ++rank) {
    const std::vector<char> part = part_of(rank, turn);
    all.insert(all.end(), part.begin(), part.end());
  }
  return contents_of(path) == all;
}

// Says when all is written, and is then killed.
void write_job(const Ranks& ranks, const std::string& folder) {
  const Info info(std::map<std::string, std::string>{
      {"e10_cache", "enable"}, {"e10_cache_path", folder + "/tier"}, {"e10_cache_flush_flag", "flush_onclose"}});
  MPI_File file = open_file(folder + "/file", info.get());
  write_part(ranks, file, 0);
  write_part(ranks, file, 1);
  std::printf("written by %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  while (true) {
    pause();
  }
}

void read_job(const Ranks& ranks, const std::string& folder) {
  const Info info(std::map<std::string, std::string>{{"e10_cache", "enable"}, {"e10_cache_path", folder + "/tier"}});
  MPI_File file = open_file(folder + "/file", info.get());
  const int next = (ranks.rank + 1) % ranks.size;
  std::vector<char> back(bytes);
  succeed(MPI_File_read_at_all(file, MPI_Offset{next} * bytes, back.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE),
          "reading");
  check(back == part_of(next, 1), "what was acknowledged is not there");
  MPI_File_close(&file);
}

MPI_File open_staged(const std::string& folder) {
  const Info info(std::map<std::string, std::string>{{"e10_cache", "enable"}, {"e10_cache_path", folder + "/tier"}});
  return open_file(folder + "/file", info.get());
}

void overwrite_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = open_staged(folder);
  write_part(ranks, file, 2);
  succeed(MPI_File_close(&file), "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  check(is_whole(ranks, folder + "/file", 2), "the file is not whole");
}

// The folders stay, and are used again.
void keep_job(const Ranks& ranks, const std::string& folder) {
  const Info info(std::map<std::string, std::string>{
      {"e10_cache", "enable"}, {"e10_cache_path", folder + "/tier"}, {"e10_cache_discard_flag", "disable"}});
  for (int turn = 0; turn < 2; ++turn) {
    MPI_File file = open_file(folder + "/file", info.get());
    write_part(ranks, file, turn);
    succeed(MPI_File_close(&file), "MPI_File_close");
    MPI_Barrier(MPI_COMM_WORLD);
    check(is_whole(ranks, folder + "/file", turn), "the file is not whole");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void shared_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = open_staged(folder);
  const char letter = static_cast<char>('a' + ranks.rank);
  for (int turn = 0; turn < 2; ++turn) {
    succeed(MPI_File_write_ordered(file, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE), "writing");
    succeed(MPI_File_write_shared(file, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE), "writing");
  }
  MPI_File_close(&file);
}

// Each is whole once the next one has been opened.
void checkpoints_job(const Ranks& ranks, const std::string& folder) {
  for (int turn = 0; turn < 3; ++turn) {
    MPI_File file = open_file(folder + "/checkpoint." + std::to_string(turn));
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn > 0) {
      check(is_whole(ranks, folder + "/checkpoint." + std::to_string(turn - 1), turn - 1),
            "the last checkpoint is not whole");
    }
    write_part(ranks, file, turn);
    check(contents_of(folder + "/checkpoint." + std::to_string(turn)).empty(), "drained before the close");
    MPI_Barrier(MPI_COMM_WORLD);
    succeed(MPI_File_close(&file), "MPI_File_close");
    check(file == MPI_FILE_NULL, "the file is still open");
    // Of another group: drained at its close.
    MPI_File other = open_file(folder + "/other");
    write_part(ranks, other, turn);
    MPI_File_close(&other);
    check(is_whole(ranks, folder + "/other", turn), "a file of another group is not whole");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // Not one of the configuration's files.
  MPI_File plain = open_file(folder + "/plain");
  write_part(ranks, plain, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  check(is_whole(ranks, folder + "/plain", 0), "a file without hints is not written at once");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&plain);
}

// As a Fortran program ends whose files are opened by a part in C: past this library.
void finalize_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = open_file(folder + "/checkpoint.0");
  write_part(ranks, file, 0);
  succeed(MPI_File_close(&file), "MPI_File_close");
  PMPI_Finalize();
  std::_Exit(0);
}

// The hints and the deferred close are those of the name, which is a link. An opening of another one of the group brings it into its file.
void link_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = open_file(folder + "/checkpoint.link");
  write_part(ranks, file, 0);
  check(contents_of(folder + "/target").empty(), "it was not staged");
  succeed(MPI_File_close(&file), "MPI_File_close");
  check(std::filesystem::directory_iterator(folder + "/tier") != std::filesystem::directory_iterator(),
        "no close was deferred");
  file = open_file(folder + "/checkpoint.next");
  check(is_whole(ranks, folder + "/target", 0), "the last checkpoint is not whole");
  MPI_File_close(&file);
}

// The drain of a file that was closed fails, and the next opening of its group tells of it.
void failing_job(const Ranks& ranks, const std::string& folder) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{1 << 20, limit.rlim_max};
  MPI_File file = open_file(folder + "/checkpoint.0");
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<char> part = part_of(ranks.rank, 0);
  const MPI_Offset far = (MPI_Offset{16} + ranks.rank) << 20;
  succeed(MPI_File_write_at(file, far, part.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE), "writing");
  succeed(MPI_File_close(&file), "MPI_File_close");
  const int code = MPI_File_open(MPI_COMM_WORLD, (folder + "/checkpoint.1").c_str(), usual_mode, MPI_INFO_NULL, &file);
  check(class_of(code) == MPI_ERR_IO, "the opening does not tell of the drain");
  check(text_of(code).find("checkpoint.0") != std::string::npos, "the text is " + text_of(code));
  setrlimit(RLIMIT_FSIZE, &limit);
  file = open_file(folder + "/checkpoint.1");
  MPI_File_close(&file);
  file = open_file(folder + "/checkpoint.0");
  std::vector<char> back(bytes);
  MPI_File_read_at(file, far, back.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  check(back == part, "what could not be drained is lost");
  MPI_File_close(&file);
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGXFSZ, SIG_IGN);
  const Ranks ranks(&count, &arguments);
  const std::string_view job = arguments[1];
  const auto run = job == "write"         ? write_job
                   : job == "read"        ? read_job
                   : job == "checkpoints" ? checkpoints_job
                   : job == "overwrite"   ? overwrite_job
                   : job == "shared"      ? shared_job
                   : job == "keep"        ? keep_job
                   : job == "link"        ? link_job
                   : job == "finalize"    ? finalize_job
                                          : failing_job;
  run(ranks, arguments[2]);
  return 0;
}
