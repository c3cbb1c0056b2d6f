// Jobs for jobs_test.py, each with a folder. JOB_TIERS has the names of tiers in it, one behind the other: ranks take turns at them, as if they were on that many
// nodes.
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <thread>

#include "interpose_mpiio/staging_ranks.hpp"
#include "staging/waiting.hpp"

namespace {

using namespace dovetail::test;

constexpr int bytes = 100'000;
constexpr int usual_mode = MPI_MODE_CREATE | MPI_MODE_RDWR;

std::vector<char> part_of(int rank, int turn) {
  return std::vector<char>(bytes, static_cast<char>('a' + 4 * turn + rank));
}

std::string tier_of(const Ranks& ranks, const std::string& folder) {
  const char* const named = std::getenv("JOB_TIERS");
  std::istringstream words(named != nullptr ? named : "tier");
  const std::vector<std::string> tiers{std::istream_iterator<std::string>(words), {}};
  return folder + "/" + tiers[static_cast<std::size_t>(ranks.rank) % tiers.size()];
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

MPI_File write_and_tell(const Ranks& ranks, const std::string& folder) {
  const Info info(std::map<std::string, std::string>{
      {"e10_cache", "enable"}, {"e10_cache_path", tier_of(ranks, folder)}, {"e10_cache_flush_flag", "flush_onclose"}});
  MPI_File file = open_file(folder + "/file", info.get());
  write_part(ranks, file, 0);
  write_part(ranks, file, 1);
  std::printf("written by %d\n", static_cast<int>(getpid()));
  std::fflush(stdout);
  return file;
}

// Says when all is written, and is then killed.
void write_job(const Ranks& ranks, const std::string& folder) {
  write_and_tell(ranks, folder);
  while (true) {
    pause();
  }
}

// Says when all is written, and closes the file when it is told to: another job has opened it meanwhile.
void older_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = write_and_tell(ranks, folder);
  if (ranks.rank == 0) {
    std::getchar();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int code = MPI_File_close(&file);
  check(class_of(code) == MPI_ERR_IO, "the close does not fail");
  check(text_of(code).find("others have opened") != std::string::npos, "the text is " + text_of(code));
}

MPI_File open_staged(const Ranks& ranks, const std::string& folder, MPI_Comm communicator = MPI_COMM_WORLD) {
  const Info info(
      std::map<std::string, std::string>{{"e10_cache", "enable"}, {"e10_cache_path", tier_of(ranks, folder)}});
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(communicator, (folder + "/file").c_str(), usual_mode, info.get(), &file), "MPI_File_open");
  return file;
}

void read_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = open_staged(ranks, folder);
  const int next = (ranks.rank + 1) % ranks.size;
  std::vector<char> back(bytes);
  succeed(MPI_File_read_at_all(file, MPI_Offset{next} * bytes, back.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE),
          "reading");
  check(back == part_of(next, 1), "what was acknowledged is not there");
  MPI_File_close(&file);
}

void overwrite_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = open_staged(ranks, folder);
  write_part(ranks, file, 2);
  succeed(MPI_File_close(&file), "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  check(is_whole(ranks, folder + "/file", 2), "the file is not whole");
}

// Each rank opens the file on its own, before any has opened one together with others. None supersedes another.
void alone_job(const Ranks& ranks, const std::string& folder) {
  MPI_File file = open_staged(ranks, folder, MPI_COMM_SELF);
  write_part(ranks, file, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  succeed(MPI_File_close(&file), "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  check(is_whole(ranks, folder + "/file", 2), "the file is not whole");
}

std::string awaited_log;
std::atomic<bool> holds_drain = false;

// A drain in the background, until somebody waits for its log.
void hold_drain() {
  while (holds_drain && ::gettid() != ::getpid()) {
    holds_drain = !is_waited_for(awaited_log);
    std::this_thread::yield();
  }
}

// All close it, and one opens it while another still drains it: that one's drain goes on once somebody waits for its log.
void fewer_job(const Ranks& ranks, const std::string& folder) {
  constexpr int many = 1 << 20;
  MPI_File file = open_file(folder + "/checkpoint.0");
  if (ranks.rank == 1) {
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/tier")) {
      if (entry.path().string().ends_with(".1")) {
        awaited_log = entry.path();
      }
    }
    check(!awaited_log.empty(), "there is no log of this rank");
    holds_drain = true;
  }
  const std::vector<char> part(many, static_cast<char>('a' + ranks.rank));
  succeed(MPI_File_write_at_all(file, MPI_Offset{ranks.rank} * many, part.data(), many, MPI_CHAR, MPI_STATUS_IGNORE),
          "writing");
  succeed(MPI_File_close(&file), "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  if (ranks.rank == 0) {
    succeed(MPI_File_open(MPI_COMM_SELF, (folder + "/checkpoint.0").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
            "MPI_File_open");
    std::vector<char> back(many);
    for (int rank = 0; rank < ranks.size; ++rank) {
      succeed(MPI_File_read_at(file, MPI_Offset{rank} * many, back.data(), many, MPI_CHAR, MPI_STATUS_IGNORE),
              "reading");
      check(back == std::vector<char>(many, static_cast<char>('a' + rank)), "it is not whole");
    }
    MPI_File_close(&file);
  }
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
  MPI_File file = open_staged(ranks, folder);
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

// There is no memory to put the pieces of scattered data together: the call says so, and the next one works.
void memory_job(const Ranks& ranks, const std::string& folder) {
  constexpr int many = 4 << 20;
  MPI_File file = open_staged(ranks, folder);
  const std::vector<char> scattered(std::size_t{2} * many, 'x');
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_vector(many, 1, 2, MPI_CHAR, &every_other);
  MPI_Type_commit(&every_other);
  const auto write = [&] {
    return MPI_File_write_at(file, MPI_Offset{ranks.rank} * many, scattered.data(), 1, every_other, MPI_STATUS_IGNORE);
  };
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlimit small{pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (1 << 20), limit.rlim_max};
  setrlimit(RLIMIT_AS, &small);
  const int code = write();
  setrlimit(RLIMIT_AS, &limit);
  check(class_of(code) == MPI_ERR_NO_MEM, "the class is " + std::to_string(class_of(code)));
  succeed(write(), "writing");
  MPI_Type_free(&every_other);
  succeed(MPI_File_close(&file), "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  check(contents_of(folder + "/file") == std::vector<char>(static_cast<std::size_t>(ranks.size) * many, 'x'),
        "the file is not whole");
}

}  // namespace

// The drains of the library call these.
extern "C" int fsync(int descriptor) {
  hold_drain();
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

extern "C" int fdatasync(int descriptor) {
  hold_drain();
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

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
                   : job == "older"       ? older_job
                   : job == "alone"       ? alone_job
                   : job == "fewer"       ? fewer_job
                   : job == "memory"      ? memory_job
                   : job == "link"        ? link_job
                   : job == "finalize"    ? finalize_job
                                          : failing_job;
  run(ranks, arguments[2]);
  return 0;
}
