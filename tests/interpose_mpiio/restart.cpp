// Jobs for restart_test.py, each with a folder: one that is killed and leaves a checkpoint in the tier, and those that read it. RESTART_TIER names a tier in the folder,
// RESTART_FLUSH is a hint.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <span>
#include <string_view>

#include "interpose_mpiio/staging_ranks.hpp"

namespace {

using namespace dovetail::test;

constexpr int base_bytes = 1'000'000;
constexpr int most_bytes = 1'200'000;  // with what is staged
constexpr int writes = 120;            // of each rank
constexpr int piece_bytes = 1000;      // of the views

struct Job {
  std::string folder;
  std::string path;
  unsigned seed = 0;
};

Info hints_of(const Job& job, const char* flush) {
  const char* const tier = std::getenv("RESTART_TIER");
  return Info({{"e10_cache", "enable"},
               {"e10_cache_path", job.folder + "/" + (tier != nullptr ? tier : "tier")},
               {"e10_cache_flush_flag", flush}});
}

MPI_File open_file(const Job& job, int mode, const char* flush = "flush_none") {
  const char* const wanted = std::getenv("RESTART_FLUSH");
  const Info info = hints_of(job, wanted != nullptr ? wanted : flush);
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, job.path.c_str(), mode, info.get(), &file), "MPI_File_open");
  return file;
}

void say(const char* what) {
  std::printf("%s %d\n", what, static_cast<int>(getpid()));
  std::fflush(stdout);
}

void write_over(const Ranks& ranks, MPI_File file, std::mt19937& random) {
  for (int i = 0; i < writes; ++i) {
    const int bytes = 1 + static_cast<int>(random() % 20'000);
    const auto offset = static_cast<MPI_Offset>(random() % static_cast<unsigned>(most_bytes - bytes));
    const std::vector<char> data(static_cast<std::size_t>(bytes), static_cast<char>(1 + ranks.rank * writes + i));
    succeed(MPI_File_write_at(file, offset, data.data(), bytes, MPI_CHAR, MPI_STATUS_IGNORE), "writing");
  }
}

// The final file has some bytes. Those of all ranks lie over them and over each other, in the tier alone.
void write_job(const Ranks& ranks, const Job& job) {
  MPI_File file = open_file(job, MPI_MODE_CREATE | MPI_MODE_RDWR, "flush_onclose");
  const std::vector<char> base(base_bytes, 'b');
  if (ranks.rank == 0) {
    succeed(MPI_File_write_at(file, 0, base.data(), base_bytes, MPI_CHAR, MPI_STATUS_IGNORE), "writing");
  }
  succeed(MPI_File_close(&file), "MPI_File_close");
  file = open_file(job, MPI_MODE_RDWR);
  std::mt19937 random(job.seed + static_cast<unsigned>(ranks.rank));
  write_over(ranks, file, random);
  say("written");
  while (true) {
    pause();
  }
}

// Another job, which ends as it should.
void overwrite_job(const Ranks& ranks, const Job& job) {
  MPI_File file = open_file(job, MPI_MODE_RDWR, "flush_onclose");
  const std::vector<char> data(piece_bytes, 'o');
  const MPI_Offset offset = MPI_Offset{ranks.rank} * 3 * piece_bytes;
  succeed(MPI_File_write_at_all(file, offset, data.data(), piece_bytes, MPI_CHAR, MPI_STATUS_IGNORE), "writing");
  succeed(MPI_File_close(&file), "MPI_File_close");
}

std::vector<char> expected_of(const Job& job) { return contents_of(job.folder + "/expected"); }

void is_same(std::span<const char> found, std::span<const char> expected, const std::string& what) {
  const auto [at, there] = std::ranges::mismatch(found, expected);
  check(found.size() == expected.size() && at == found.end(),
        what + " differs at " + std::to_string(at - found.begin()) + " of " + std::to_string(expected.size()));
}

void read_pieces(const Ranks& ranks, const Job& job, MPI_File file) {
  const std::vector<char> expected = expected_of(job);
  std::mt19937 random(job.seed + 100 + static_cast<unsigned>(ranks.rank));
  for (int i = 0; i < 50; ++i) {
    const std::size_t at = random() % expected.size();
    const std::size_t wanted = random() % 30'000 + 1;
    const std::size_t there = std::min(wanted, expected.size() - at);
    std::vector<char> back(wanted);
    MPI_Status status{};
    if (i % 2 == 0) {
      succeed(
          MPI_File_read_at(file, static_cast<MPI_Offset>(at), back.data(), static_cast<int>(wanted), MPI_CHAR, &status),
          "reading");
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      succeed(MPI_File_iread_at(file, static_cast<MPI_Offset>(at), back.data(), static_cast<int>(wanted), MPI_CHAR,
                                &request),
              "reading");
      MPI_Wait(&request, &status);
    }
    int count = 0;
    MPI_Get_count(&status, MPI_CHAR, &count);
    check(static_cast<std::size_t>(count) == there, "so many were read: " + std::to_string(count));
    is_same(std::span(back).first(there), std::span(expected).subspan(at, there), "a piece");
  }
}

void read_whole(const Job& job, MPI_File file, bool together) {
  const std::vector<char> expected = expected_of(job);
  std::vector<char> back(expected.size());
  const auto call = together ? MPI_File_read_at_all : MPI_File_read_at;
  succeed(call(file, 0, back.data(), static_cast<int>(back.size()), MPI_CHAR, MPI_STATUS_IGNORE), "reading");
  is_same(back, expected, "the file");
}

// Pieces of all ranks in turn, into memory with gaps.
void read_views(const Ranks& ranks, const Job& job, MPI_File file) {
  const std::vector<char> expected = expected_of(job);
  const auto stride = static_cast<std::size_t>(ranks.size) * piece_bytes;
  const auto pieces = static_cast<int>(expected.size() / stride);
  MPI_Datatype piece = MPI_DATATYPE_NULL;
  MPI_Datatype in_turn = MPI_DATATYPE_NULL;
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(piece_bytes, MPI_CHAR, &piece);
  MPI_Type_create_resized(piece, 0, static_cast<MPI_Aint>(stride), &in_turn);
  MPI_Type_vector(pieces * piece_bytes, 1, 2, MPI_CHAR, &every_other);
  MPI_Type_commit(&in_turn);
  MPI_Type_commit(&every_other);
  succeed(MPI_File_set_view(file, MPI_Offset{ranks.rank} * piece_bytes, MPI_CHAR, in_turn, "native", MPI_INFO_NULL),
          "MPI_File_set_view");
  const auto bytes = static_cast<std::size_t>(pieces) * piece_bytes;
  std::vector<char> wanted;
  for (std::size_t at = static_cast<std::size_t>(ranks.rank) * piece_bytes; wanted.size() < bytes; at += stride) {
    const auto from = expected.begin() + static_cast<std::ptrdiff_t>(at);
    wanted.insert(wanted.end(), from, from + piece_bytes);
  }
  for (const bool split : {false, true}) {
    std::vector<char> memory(2 * bytes, '-');
    succeed(MPI_File_seek(file, 0, MPI_SEEK_SET), "MPI_File_seek");
    if (split) {
      succeed(MPI_File_read_all_begin(file, memory.data(), 1, every_other), "reading");
      succeed(MPI_File_read_all_end(file, memory.data(), MPI_STATUS_IGNORE), "reading");
    } else {
      succeed(MPI_File_read_all(file, memory.data(), 1, every_other, MPI_STATUS_IGNORE), "reading");
    }
    std::vector<char> back(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      back[i] = memory[2 * i];
      check(memory[2 * i + 1] == '-', "a gap of the memory was written");
    }
    is_same(back, wanted, "a view");
  }
  succeed(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL), "MPI_File_set_view");
  MPI_Type_free(&piece);
  MPI_Type_free(&in_turn);
  MPI_Type_free(&every_other);
}

void read_job(const Ranks& ranks, const Job& job) {
  MPI_File file = open_file(job, MPI_MODE_RDONLY);
  MPI_Offset size = 0;
  succeed(MPI_File_get_size(file, &size), "MPI_File_get_size");
  check(size == static_cast<MPI_Offset>(expected_of(job).size()), "the size is " + std::to_string(size));
  read_pieces(ranks, job, file);
  read_whole(job, file, true);
  read_whole(job, file, false);
  read_views(ranks, job, file);
  const char letter = 'x';
  check(MPI_File_write_at(file, 0, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE) != MPI_SUCCESS,
        "writing to a file that is open for reading");
  succeed(MPI_File_close(&file), "MPI_File_close");
}

// As files are read of which nothing is left.
void whole_job(const Ranks& /*ranks*/, const Job& job) {
  MPI_File file = open_file(job, MPI_MODE_RDONLY);
  read_whole(job, file, true);
  read_whole(job, file, false);
  succeed(MPI_File_close(&file), "MPI_File_close");
}

// What the library does not serve itself is read behind a drain.
void shared_job(const Ranks& ranks, const Job& job) {
  MPI_File file = open_file(job, MPI_MODE_RDONLY);
  const std::vector<char> expected = expected_of(job);
  const auto part = static_cast<std::size_t>(base_bytes / 4);
  std::vector<char> back(part);
  succeed(MPI_File_read_ordered(file, back.data(), static_cast<int>(part), MPI_CHAR, MPI_STATUS_IGNORE), "reading");
  is_same(back, std::span(expected).subspan(static_cast<std::size_t>(ranks.rank) * part, part), "an ordered read");
  read_whole(job, file, true);
  succeed(MPI_File_close(&file), "MPI_File_close");
}

// Reads again whenever it is told to, until its input ends.
void hold_job(const Ranks& ranks, const Job& job) {
  MPI_File file = open_file(job, MPI_MODE_RDONLY);
  for (int goes_on = 1; goes_on != 0;) {
    read_whole(job, file, false);
    read_whole(job, file, true);
    MPI_Barrier(MPI_COMM_WORLD);
    say("read");
    goes_on = ranks.rank == 0 && std::getchar() != EOF ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  succeed(MPI_File_close(&file), "MPI_File_close");
}

// Reads again and again, until FOLDER/stop is there, and then once more.
void loop_job(const Ranks& ranks, const Job& job) {
  MPI_File file = open_file(job, MPI_MODE_RDONLY);
  say("read");
  for (int goes_on = 1; goes_on != 0;) {
    goes_on = ranks.rank == 0 && !std::filesystem::exists(job.folder + "/stop") ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Offset size = 0;
    succeed(MPI_File_get_size(file, &size), "MPI_File_get_size");
    check(size == static_cast<MPI_Offset>(expected_of(job).size()), "the size is " + std::to_string(size));
    read_pieces(ranks, job, file);
    read_views(ranks, job, file);
    read_whole(job, file, goes_on != 0);
  }
  succeed(MPI_File_close(&file), "MPI_File_close");
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  const std::string_view name = arguments[1];
  const Job job{.folder = arguments[2],
                .path = std::string(arguments[2]) + "/file",
                .seed = static_cast<unsigned>(std::strtoul(arguments[3], nullptr, 10))};
  const auto run = name == "write"       ? write_job
                   : name == "overwrite" ? overwrite_job
                   : name == "read"      ? read_job
                   : name == "whole"     ? whole_job
                   : name == "shared"    ? shared_job
                   : name == "hold"      ? hold_job
                                         : loop_job;
  run(ranks, job);
  return 0;
}
