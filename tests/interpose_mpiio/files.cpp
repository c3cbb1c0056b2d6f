// Hints, visibility, sizes and failures of staged files. Argument: a folder.
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <numeric>
#include <optional>

#include "interpose_mpiio/staging_ranks.hpp"

namespace {

using namespace dovetail::test;
using Hints = std::map<std::string, std::string>;

constexpr int numbers = 1000;
constexpr MPI_Offset part_bytes = numbers * sizeof(int);
constexpr int usual_mode = MPI_MODE_CREATE | MPI_MODE_RDWR;

std::vector<int> part_of(int rank, int first) {
  std::vector<int> part(numbers);
  std::iota(part.begin(), part.end(), first + 100'000 * rank);
  return part;
}

struct Place {
  std::string tier;
  std::string path;
  Hints hints;
};

MPI_File open_file(const Place& place, const Hints& more = {}) {
  Hints hints = place.hints;
  for (const auto& [name, value] : more) {
    hints[name] = value;
  }
  const Info info(hints);
  MPI_File file = MPI_FILE_NULL;
  succeed(MPI_File_open(MPI_COMM_WORLD, place.path.c_str(), usual_mode, info.get(), &file), "MPI_File_open");
  return file;
}

std::string hint_of(MPI_File file, const char* name) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_File_get_info(file, &info);
  std::vector<char> value(MPI_MAX_INFO_VAL + 1);
  int there = 0;
  MPI_Info_get(info, name, MPI_MAX_INFO_VAL, value.data(), &there);
  MPI_Info_free(&info);
  return there != 0 ? value.data() : "";
}

void write_part(const Ranks& ranks, MPI_File file, int first) {
  const std::vector<int> part = part_of(ranks.rank, first);
  succeed(MPI_File_write_at_all(file, ranks.rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE),
          "writing");
}

std::vector<int> read_part(MPI_File file, int rank) {
  std::vector<int> part(numbers, -1);
  succeed(MPI_File_read_at_all(file, rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE), "reading");
  return part;
}

std::size_t bytes_in_file(const Place& place) {
  MPI_Barrier(MPI_COMM_WORLD);
  const std::size_t bytes = contents_of(place.path).size();
  MPI_Barrier(MPI_COMM_WORLD);
  return bytes;
}

void unusable_hints_are_refused(const Ranks& /*ranks*/, const Place& place) {
  struct Refused {
    const char* name;
    const char* value;
    const char* in_text;
  };
  const Refused refused[] = {{"e10_cache", "on", "disable, enable and coherent"},
                             {"e10_cache_flush_flag", "later", "flush_immediate, flush_onclose and flush_none"},
                             {"e10_cache_discard_flag", "yes", "disable and enable"},
                             {"e10_cache_threads", "0", "from 1 to"},
                             {"ind_wr_buffer_size", "much", "from 1 to"},
                             {"dovetail_tier_budget", "0", "from 1 to"},
                             {"dovetail_drain_bandwidth", "fast", "from 1 to"},
                             {"e10_cache_path", "", ""}};
  for (const Refused& each : refused) {
    Hints hints = place.hints;
    hints[each.name] = each.value;
    if (*each.value == '\0') {
      hints.erase(each.name);
    }
    const Info info(hints);
    MPI_File file = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, place.path.c_str(), usual_mode, info.get(), &file);
    check(class_of(code) == MPI_ERR_INFO_VALUE, std::string(each.name) + " was not refused");
    check(text_of(code).find(each.name) != std::string::npos && text_of(code).find(each.in_text) != std::string::npos,
          "the text is " + text_of(code));
    check(!std::filesystem::exists(place.path), "a file was made");
  }
}

void one_rank_is_enough_to_refuse(const Ranks& ranks, const Place& place) {
  Hints hints = place.hints;
  if (ranks.rank == ranks.size - 1) {
    hints["e10_cache"] = "on";
  }
  const Info info(hints);
  MPI_File file = MPI_FILE_NULL;
  int code = MPI_File_open(MPI_COMM_WORLD, place.path.c_str(), usual_mode, info.get(), &file);
  check(class_of(code) == MPI_ERR_INFO_VALUE, "a hint that one rank gave was not refused");
  hints["e10_cache"] = ranks.rank == 0 ? "disable" : "enable";
  if (ranks.size > 1) {
    const Info different(hints);
    code = MPI_File_open(MPI_COMM_WORLD, place.path.c_str(), usual_mode, different.get(), &file);
    check(class_of(code) == MPI_ERR_INFO_VALUE, "different hints were not refused");
  }
}

void hints_in_force_are_shown(const Ranks& /*ranks*/, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}, {"ind_wr_buffer_size", "524288"}});
  check(hint_of(file, "e10_cache") == "enable" && hint_of(file, "e10_cache_flush_flag") == "flush_onclose" &&
            hint_of(file, "e10_cache_path") == place.tier && hint_of(file, "e10_cache_discard_flag") == "enable" &&
            hint_of(file, "e10_cache_threads") == "1" && hint_of(file, "ind_wr_buffer_size") == "524288",
        "the hints are not those that were given");
  const Info changed(Hints{{"e10_cache_flush_flag", "flush_immediate"}});
  succeed(MPI_File_set_info(file, changed.get()), "MPI_File_set_info");
  check(hint_of(file, "e10_cache_flush_flag") == "flush_immediate", "a hint was not changed");
  check(hint_of(file, "dovetail_tier_budget").empty(), "a hint that nobody gave is shown");
  const Info wrong(Hints{{"e10_cache_flush_flag", "never"}});
  check(class_of(MPI_File_set_info(file, wrong.get())) == MPI_ERR_INFO_VALUE, "a hint was not refused");
  MPI_File_close(&file);
  MPI_File_open(MPI_COMM_WORLD, place.path.c_str(), usual_mode, MPI_INFO_NULL, &file);
  check(hint_of(file, "e10_cache").empty(), "a file without hints has them");
  MPI_File_close(&file);
}

void a_spent_budget_loses_nothing(const Ranks& ranks, const Place& place) {
  constexpr std::size_t piece_bytes = 50'000;
  constexpr int pieces = 12;
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_none"}, {"dovetail_tier_budget", "300000"}});
  check(hint_of(file, "dovetail_tier_budget") == "300000", "the budget is not that which was given");
  for (int number = 0; number < pieces; ++number) {
    const std::vector<char> piece(piece_bytes, static_cast<char>(ranks.rank * pieces + number + 1));
    const MPI_Offset offset = static_cast<MPI_Offset>(ranks.rank * pieces + number) * MPI_Offset{piece_bytes};
    succeed(MPI_File_write_at(file, offset, piece.data(), static_cast<int>(piece_bytes), MPI_CHAR, MPI_STATUS_IGNORE),
            "writing");
  }
  check(bytes_in_tier(place.tier) < 350'000 + 140'000U * static_cast<unsigned>(ranks.size),
        "the tier has more than its budget");
  succeed(MPI_File_sync(file), "MPI_File_sync");
  const std::vector<char> bytes = contents_of(place.path);
  check(bytes.size() == piece_bytes * pieces * static_cast<std::size_t>(ranks.size), "bytes are lost");
  for (std::size_t number = 0; number * piece_bytes < bytes.size(); ++number) {
    check(bytes[number * piece_bytes + 9] == static_cast<char>(number + 1), "other bytes are in the file");
  }
  MPI_File_close(&file);
}

void others_see_it_after_sync(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}});
  const int next = (ranks.rank + 1) % ranks.size;
  for (int turn = 0; turn < 3; ++turn) {
    write_part(ranks, file, turn);
    check(read_part(file, ranks.rank) == part_of(ranks.rank, turn), "a rank does not see its own bytes");
    succeed(MPI_File_sync(file), "MPI_File_sync");
    MPI_Barrier(MPI_COMM_WORLD);
    check(read_part(file, next) == part_of(next, turn), "a rank does not see another one's bytes after MPI_File_sync");
    check(contents_of(place.path).size() == static_cast<std::size_t>(ranks.size * part_bytes),
          "the final file is not whole after MPI_File_sync");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_close(&file);
}

void nothing_is_drained_before_close(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}});
  write_part(ranks, file, 1);
  check(bytes_in_file(place) == 0, "flush_onclose drained before the close");
  MPI_Offset size = 0;
  MPI_File_get_size(file, &size);
  check(size == (ranks.rank + 1) * part_bytes, "MPI_File_get_size does not count what is staged");
  check(folders_in(place.tier) == static_cast<std::size_t>(ranks.size), "each rank must have a folder");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
  check(bytes_in_file(place) == static_cast<std::size_t>(ranks.size * part_bytes),
        "the file is not whole after the close");
  check(folders_in(place.tier) == 0, "folders were left");
  file = open_file(place, {{"e10_cache_discard_flag", "disable"}});
  write_part(ranks, file, 2);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  check(folders_in(place.tier) == static_cast<std::size_t>(ranks.size), "folders were removed against the hint");
}

void none_stays_in_the_tier(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_none"}});
  write_part(ranks, file, 3);
  MPI_File_close(&file);
  check(bytes_in_file(place) == 0, "flush_none drained");
  file = open_file(place);
  check(read_part(file, ranks.rank) == part_of(ranks.rank, 3), "what was left in the tier is not there");
  MPI_File_close(&file);
  check(bytes_in_file(place) == static_cast<std::size_t>(ranks.size * part_bytes), "the file is not whole");
}

void coherent_is_seen_at_once(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache", "coherent"}});
  const std::vector<int> part = part_of(ranks.rank, 4);
  MPI_File_write_at(file, ranks.rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  const int next = (ranks.rank + 1) % ranks.size;
  std::vector<int> back(numbers);
  MPI_File_read_at(file, next * part_bytes, back.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
  check(back == part_of(next, 4), "another rank's bytes are not there");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_close(&file);
}

void sizes_are_right(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}});
  write_part(ranks, file, 5);
  MPI_Barrier(MPI_COMM_WORLD);
  succeed(MPI_File_set_size(file, ranks.size * part_bytes + 77), "MPI_File_set_size");
  MPI_Offset size = 0;
  MPI_File_get_size(file, &size);
  check(size == ranks.size * part_bytes + 77, "a longer file");
  // Nothing of the first rank's but zeros: its numbers begin with 5.
  check(contents_of(place.path).at(0) == 0, "growing drained");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  write_part(ranks, file, 6);
  succeed(MPI_File_set_size(file, part_bytes / 2), "MPI_File_set_size");
  MPI_File_get_size(file, &size);
  check(size == part_bytes / 2, "a shorter file");
  MPI_Barrier(MPI_COMM_WORLD);
  succeed(MPI_File_preallocate(file, part_bytes), "MPI_File_preallocate");
  MPI_Barrier(MPI_COMM_WORLD);
  if (ranks.rank == 0) {
    const char byte = 'x';
    MPI_File_write_at(file, part_bytes + 9, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_seek(file, -10, MPI_SEEK_END);
    MPI_Offset at = 0;
    MPI_File_get_position(file, &at);
    check(at == part_bytes, "MPI_SEEK_END does not count what is staged");
  }
  MPI_File_close(&file);
  check(bytes_in_file(place) == static_cast<std::size_t>(part_bytes) + 10, "the file has another size");
}

void shared_pointer_and_atomic_mode(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}});
  const std::vector<int> part = part_of(ranks.rank, 7);
  write_part(ranks, file, 1);
  succeed(MPI_File_write_ordered(file, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE), "MPI_File_write_ordered");
  MPI_Barrier(MPI_COMM_WORLD);
  check(read_part(file, ranks.rank) == part, "what was written in order is under older bytes");
  succeed(MPI_File_set_atomicity(file, 1), "MPI_File_set_atomicity");
  write_part(ranks, file, 8);
  MPI_Barrier(MPI_COMM_WORLD);
  const int next = (ranks.rank + 1) % ranks.size;
  check(read_part(file, next) == part_of(next, 8), "an atomic write is not seen");
  MPI_Barrier(MPI_COMM_WORLD);
  succeed(MPI_File_set_atomicity(file, 0), "MPI_File_set_atomicity");
  write_part(ranks, file, 9);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  file = open_file(place);
  check(read_part(file, next) == part_of(next, 9), "the last writes are not the last");
  MPI_File_close(&file);
}

// MPI_File_set_info may be given other hints on each rank, and so may MPI_File_set_view: all take the same way at the close.
void hints_may_differ_once_it_is_open(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_immediate"}});
  const Info none(Hints{{"e10_cache_flush_flag", "flush_none"}});
  const Info on_close(Hints{{"e10_cache_flush_flag", "flush_onclose"}});
  char native[] = "native";
  succeed(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, native, on_close.get()), "MPI_File_set_view");
  check(hint_of(file, "e10_cache_flush_flag") == "flush_onclose", "MPI_File_set_view did not change a hint");
  succeed(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, native, MPI_INFO_NULL), "MPI_File_set_view");
  const bool keeps = ranks.rank == ranks.size - 1;
  succeed(MPI_File_set_info(file, keeps ? none.get() : on_close.get()), "MPI_File_set_info");
  write_part(ranks, file, 12);
  succeed(MPI_File_close(&file), "MPI_File_close");
  check(bytes_in_file(place) == static_cast<std::size_t>((ranks.size - 1) * part_bytes),
        "each rank must have drained as its own hints say");
  file = open_file(place);
  check(read_part(file, ranks.rank) == part_of(ranks.rank, 12), "what was left in the tier is not there");
  MPI_File_close(&file);
}

// Files may have so many bytes.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LargestFile() { setrlimit(RLIMIT_FSIZE, &before_); }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;

 private:
  rlimit before_{};
};

constexpr rlim_t small_file = 1 << 20;

void drain_errors_reach_sync_and_close(const Ranks& ranks, const Place& place) {
  for (const char* const flush : {"flush_onclose", "flush_immediate"}) {
    MPI_File file = open_file(place, {{"e10_cache_flush_flag", flush}});
    const MPI_Offset far = 10 * static_cast<MPI_Offset>(small_file);
    const std::vector<int> part = part_of(ranks.rank, 10);
    {
      // The log is small, and the place in the file is far.
      const LargestFile limit(small_file);
      succeed(MPI_File_write_at(file, far + ranks.rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE),
              "writing");
      const int code = MPI_File_sync(file);
      check(class_of(code) == MPI_ERR_IO, "MPI_File_sync does not tell of the drain");
      check(text_of(code).find(place.path) != std::string::npos && text_of(code).find("27") != std::string::npos,
            "the text is " + text_of(code));
    }
    succeed(MPI_File_sync(file), "MPI_File_sync once there is space");
    {
      const LargestFile limit(small_file);
      succeed(MPI_File_write_at(file, far + ranks.rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE),
              "writing");
      check(class_of(MPI_File_close(&file)) == MPI_ERR_IO, "MPI_File_close does not tell of the drain");
      check(file == MPI_FILE_NULL, "the file is still open");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    file = open_file(place);
    std::vector<int> back(numbers);
    MPI_File_read_at(file, far + ranks.rank * part_bytes, back.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
    check(back == part, "what could not be drained is lost");
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void an_error_of_one_rank_is_that_of_all(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}});
  const MPI_Offset far = 10 * static_cast<MPI_Offset>(small_file);
  const std::vector<int> part = part_of(ranks.rank, 10);
  {
    std::optional<LargestFile> limit;
    if (ranks.rank == 0) {
      limit.emplace(small_file);
    }
    succeed(MPI_File_write_at(file, far + ranks.rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE),
            "writing");
    check(class_of(MPI_File_sync(file)) == MPI_ERR_IO, "MPI_File_sync does not tell of the drain of rank 0");
  }
  succeed(MPI_File_sync(file), "MPI_File_sync once there is space");
  MPI_File_close(&file);
}

// Of a view with gaps, in which other ranks have theirs: only its own bytes are touched.
void pieces_are_written_where_the_tier_fails(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}});
  MPI_Datatype tile = MPI_DATATYPE_NULL;
  MPI_Datatype one = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1, MPI_INT, &one);
  MPI_Type_create_resized(one, 0, ranks.size * MPI_Aint{sizeof(int)}, &tile);
  MPI_Type_commit(&tile);
  char native[] = "native";
  succeed(MPI_File_set_view(file, ranks.rank * MPI_Offset{sizeof(int)}, MPI_INT, tile, native, MPI_INFO_NULL),
          "MPI_File_set_view");
  {
    const LargestFile limit(small_file);
    for (int turn = 0; turn < 400; ++turn) {
      const std::vector<int> part = part_of(ranks.rank, turn);
      succeed(MPI_File_write_at(file, 0, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE), "writing");
    }
  }
  MPI_File_close(&file);
  MPI_Type_free(&tile);
  MPI_Type_free(&one);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::vector<char> contents = contents_of(place.path);
  check(contents.size() == static_cast<std::size_t>(ranks.size * part_bytes), "the file has another size");
  std::vector<int> all(contents.size() / sizeof(int));
  std::memcpy(all.data(), contents.data(), contents.size());
  for (int i = 0; i < numbers * ranks.size; ++i) {
    check(all[static_cast<std::size_t>(i)] == 399 + i / ranks.size + 100'000 * (i % ranks.size),
          "a rank has written over another one's bytes");
  }
}

// The text is that of the drain, and the bytes stay in the log.
void failed_drain_of_a_coherent_write_is_told(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache", "coherent"}});
  const MPI_Offset far = 10 * static_cast<MPI_Offset>(small_file) + ranks.rank * part_bytes;
  const std::vector<int> part = part_of(ranks.rank, 13);
  {
    const LargestFile limit(small_file);
    const int code = MPI_File_write_at(file, far, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
    check(class_of(code) == MPI_ERR_IO && text_of(code).find("What was written to") != std::string::npos,
          "the text is " + text_of(code));
  }
  succeed(MPI_File_close(&file), "MPI_File_close");
  MPI_Barrier(MPI_COMM_WORLD);
  file = open_file(place);
  std::vector<int> back(numbers);
  MPI_File_read_at(file, far, back.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
  check(back == part, "what could not be drained is lost");
  MPI_File_close(&file);
}

void full_tier_is_written_through(const Ranks& ranks, const Place& place) {
  MPI_File file = open_file(place, {{"e10_cache_flush_flag", "flush_onclose"}});
  {
    const LargestFile limit(small_file);
    for (int turn = 0; turn < 400; ++turn) {
      const std::vector<int> part = part_of(ranks.rank, turn);
      succeed(MPI_File_write_at(file, ranks.rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE),
              "writing");
    }
  }
  std::vector<int> back(numbers);
  MPI_File_read_at(file, ranks.rank * part_bytes, back.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
  check(back == part_of(ranks.rank, 399), "the newest bytes are not there");
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  file = open_file(place);
  const int next = (ranks.rank + 1) % ranks.size;
  check(read_part(file, next) == part_of(next, 399), "the newest bytes are not in the file");
  MPI_File_close(&file);
}

void what_cannot_be_staged_is_written_through(const Ranks& ranks, const Place& place) {
  const std::vector<int> part = part_of(ranks.rank, 11);
  for (const Hints& hints : {Hints{{"e10_cache_path", place.tier + "/none"}}, Hints{}}) {
    MPI_File file = open_file(place, hints);
    if (hints.empty()) {
      char external[] = "external32";
      if (MPI_File_set_view(file, 0, MPI_INT, MPI_INT, external, MPI_INFO_NULL) != MPI_SUCCESS) {
        char native[] = "native";
        MPI_File_set_view(file, 0, MPI_INT, MPI_INT, native, MPI_INFO_NULL);
      }
      MPI_File_write_at(file, ranks.rank * numbers, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
      std::vector<int> back(numbers);
      MPI_File_read_at(file, ranks.rank * numbers, back.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
      check(back == part, "another representation of data");
    } else {
      check(hint_of(file, "e10_cache").empty(), "a hint that is not in force is shown");
      MPI_File_write_at(file, ranks.rank * part_bytes, part.data(), numbers, MPI_INT, MPI_STATUS_IGNORE);
      check(bytes_in_file(place) == static_cast<std::size_t>(ranks.size * part_bytes),
            "a file without a tier is not written");
    }
    MPI_File_close(&file);
  }
  MPI_File file = MPI_FILE_NULL;
  const Info info(place.hints);
  succeed(MPI_File_open(MPI_COMM_WORLD, place.path.c_str(), MPI_MODE_RDONLY, info.get(), &file), "opening for reading");
  check(class_of(MPI_File_write_at(file, 0, part.data(), 1, MPI_INT, MPI_STATUS_IGNORE)) != MPI_SUCCESS,
        "writing to a file that is open for reading");
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  succeed(MPI_File_open(MPI_COMM_WORLD, place.path.c_str(), usual_mode | MPI_MODE_DELETE_ON_CLOSE, info.get(), &file),
          "opening");
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  check(!std::filesystem::exists(place.path), "MPI_MODE_DELETE_ON_CLOSE");
}

}  // namespace

int main(int count, char** arguments) {
  std::signal(SIGXFSZ, SIG_IGN);
  const Ranks ranks(&count, &arguments);
  for (const auto& test :
       {unusable_hints_are_refused, one_rank_is_enough_to_refuse, hints_in_force_are_shown, others_see_it_after_sync,
        a_spent_budget_loses_nothing, nothing_is_drained_before_close, none_stays_in_the_tier, coherent_is_seen_at_once,
        sizes_are_right, hints_may_differ_once_it_is_open, shared_pointer_and_atomic_mode,
        drain_errors_reach_sync_and_close, an_error_of_one_rank_is_that_of_all, full_tier_is_written_through,
        pieces_are_written_where_the_tier_fails, failed_drain_of_a_coherent_write_is_told,
        what_cannot_be_staged_is_written_through}) {
    const std::string folder = empty_folder(ranks, std::string(arguments[1]));
    Place place{.tier = empty_folder(ranks, folder + "/tier"), .path = folder + "/file", .hints = {}};
    place.hints = {{"e10_cache", "enable"}, {"e10_cache_path", place.tier}};
    test(ranks, place);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  return 0;
}
