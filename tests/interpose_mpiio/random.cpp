// Random calls with random views and types, on a staged file and on one without hints: what is read, how much, and what the files are in the end
// must be the same. Ranks write bytes of their own; each writes over its own again and again. Argument: a folder. DOVETAIL_TEST_SEED repeats a run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>

#include "interpose_mpiio/random_types.hpp"
#include "interpose_mpiio/staging_ranks.hpp"

namespace {

using namespace dovetail::test;

#ifdef OPEN_MPI
// Version 4.1 divides by zero where there are no data.
constexpr int least_count = 1;
#else
constexpr int least_count = 0;
#endif
constexpr MPI_Offset large_bytes = 1 << 20;
constexpr std::size_t model_bytes = large_bytes;
constexpr std::size_t memory_bytes = 64 << 10;

struct Pair {
  MPI_File staged = MPI_FILE_NULL;
  MPI_File plain = MPI_FILE_NULL;
};

enum class Way : std::uint8_t { usual, request, split };

struct Call {
  bool writes = false;
  bool collective = false;
  bool at_pointer = false;
  Way way = Way::usual;
  MPI_Offset offset = 0;
  int count = 0;
};

// Bytes that were moved.
MPI_Count make(MPI_File file, const Call& call, char* memory, MPI_Datatype type) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_SUCCESS;
  const MPI_Offset offset = call.offset;
  const int count = call.count;
#define MOVE(name)                                                                                                     \
  if (call.way == Way::split) {                                                                                        \
    code = call.at_pointer ? MPI_File_##name##_all_begin(file, memory, count, type)                                    \
                           : MPI_File_##name##_at_all_begin(file, offset, memory, count, type);                        \
    succeed(code, #name "_all_begin");                                                                                 \
    code = call.at_pointer ? MPI_File_##name##_all_end(file, memory, &status)                                          \
                           : MPI_File_##name##_at_all_end(file, memory, &status);                                      \
  } else if (call.way == Way::request) {                                                                               \
    code = call.at_pointer ? (call.collective ? MPI_File_i##name##_all(file, memory, count, type, &request)            \
                                              : MPI_File_i##name(file, memory, count, type, &request))                 \
                           : (call.collective ? MPI_File_i##name##_at_all(file, offset, memory, count, type, &request) \
                                              : MPI_File_i##name##_at(file, offset, memory, count, type, &request));   \
    succeed(code, "i" #name);                                                                                          \
    code = MPI_Wait(&request, &status);                                                                                \
  } else {                                                                                                             \
    code = call.at_pointer ? (call.collective ? MPI_File_##name##_all(file, memory, count, type, &status)              \
                                              : MPI_File_##name(file, memory, count, type, &status))                   \
                           : (call.collective ? MPI_File_##name##_at_all(file, offset, memory, count, type, &status)   \
                                              : MPI_File_##name##_at(file, offset, memory, count, type, &status));     \
  }
  if (call.writes) {
    MOVE(write)
  } else {
    MOVE(read)
  }
#undef MOVE
  succeed(code, call.writes ? "writing" : "reading");
  MPI_Count bytes = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return bytes;
}

// What this rank has written, as the types of MPI say: packed and unpacked, without a file.
class Model {
 public:
  void set_view(MPI_Offset displacement, MPI_Datatype unit, MPI_Datatype tile) {
    displacement_ = displacement;
    tile_ = tile;
    MPI_Type_size(unit, &unit_bytes_);
    MPI_Type_size(tile, &tile_bytes_);
  }
  void set_size(MPI_Offset size) { std::fill(bytes_.begin() + size, bytes_.end(), '\0'); }
  // What all have written since the last time. Collective.
  void meet() {
    std::vector<char> theirs(bytes_.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      theirs[i] = written_[i] != 0 ? bytes_[i] : '\0';
    }
    const int size = static_cast<int>(bytes_.size());
    MPI_Allreduce(MPI_IN_PLACE, theirs.data(), size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, written_.data(), size, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      bytes_[i] = written_[i] != 0 ? theirs[i] : bytes_[i];
    }
    std::fill(written_.begin(), written_.end(), '\0');
  }
  bool begins_with(const std::vector<char>& file) const {
    return file.size() <= bytes_.size() && std::equal(file.begin(), file.end(), bytes_.begin());
  }
  void write(MPI_Offset offset, const char* memory, int count, MPI_Datatype type) {
    const std::vector<char> data = packed(memory, count, type);
    if (!data.empty()) {
      put(bytes_, offset, data);
      put(written_, offset, std::vector<char>(data.size(), '\xff'));
    }
  }
  void read(MPI_Offset offset, char* memory, int count, MPI_Datatype type) const {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    const std::vector<char> view =
        packed_view(bytes_, offset, static_cast<std::size_t>(bytes) * static_cast<std::size_t>(count));
    int position = static_cast<int>(offset) * unit_bytes_;
    MPI_Unpack(view.data(), static_cast<int>(view.size()), &position, memory, count, type, MPI_COMM_SELF);
  }

 private:
  static std::vector<char> packed(const char* memory, int count, MPI_Datatype type) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    std::vector<char> data(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(count));
    int position = 0;
    MPI_Pack(memory, count, type, data.data(), static_cast<int>(data.size()), &position, MPI_COMM_SELF);
    return data;
  }
  void put(std::vector<char>& file, MPI_Offset offset, const std::vector<char>& data) const {
    std::vector<char> view = packed_view(file, offset, data.size());
    std::copy(data.begin(), data.end(), view.begin() + offset * unit_bytes_);
    int position = 0;
    const int bytes = static_cast<int>(view.size());
    MPI_Unpack(view.data(), bytes, &position, file.data() + displacement_, bytes / tile_bytes_, tile_, MPI_COMM_SELF);
  }
  std::vector<char> packed_view(const std::vector<char>& file, MPI_Offset offset, std::size_t bytes) const {
    if (bytes == 0) {
      return {};
    }
    const auto last = static_cast<std::size_t>(offset) * static_cast<std::size_t>(unit_bytes_) + bytes;
    const auto tile = static_cast<std::size_t>(tile_bytes_);
    return packed(file.data() + displacement_, static_cast<int>((last + tile - 1) / tile), tile_);
  }

  std::vector<char> bytes_ = std::vector<char>(model_bytes);
  std::vector<char> written_ = std::vector<char>(model_bytes);
  MPI_Offset displacement_ = 0;
  MPI_Datatype tile_ = MPI_BYTE;
  int unit_bytes_ = 1;
  int tile_bytes_ = 1;
};

class Program {
 public:
  Program(const Ranks& ranks, std::uint64_t seed)
      : ranks_(ranks), common_(seed), own_(seed * 1000 + static_cast<std::uint64_t>(ranks.rank)) {}

  void run(const std::string& folder) {
    const std::string tier = empty_folder(ranks_, folder + "/tier");
    const std::string data = empty_folder(ranks_, folder + "/data");
    const std::array flush = {"flush_immediate", "flush_onclose", "flush_none"};
    hints_ = {{"e10_cache", below(common_, 4) == 0 ? "coherent" : "enable"},
              {"e10_cache_path", tier},
              {"e10_cache_flush_flag", flush[below(common_, 3)]},
              {"e10_cache_discard_flag", below(common_, 2) == 0 ? "enable" : "disable"},
              {"ind_wr_buffer_size", std::to_string(1 + below(common_, 3000))}};
    for (int opening = 0; opening < 2; ++opening) {
      open(data);
      const int phases = 1 + static_cast<int>(below(common_, 3));
      for (int phase = 0; phase < phases; ++phase) {
        run_phase();
        meet();
        compare_sizes();
      }
      MPI_File_close(&files_.staged);
      MPI_File_close(&files_.plain);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (hints_["e10_cache_flush_flag"] == "flush_none") {
      read_from_tier(data);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const std::vector<char> staged = contents_of(data + "/staged");
    const std::vector<char> plain = contents_of(data + "/plain");
    check(model_.begins_with(staged), "the staged file is not what was written");
    check(model_.begins_with(plain), "the plain file is not what was written");
    check(staged == plain, "the files differ in size");
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  void open(const std::string& data) {
    const Info info(hints_);
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    succeed(MPI_File_open(MPI_COMM_WORLD, (data + "/staged").c_str(), mode, info.get(), &files_.staged), "opening");
    // Without them: MPICH 4.0 reads and writes back what lies between pieces, and its two-phase writes put some types at wrong places.
    const Info plain(std::map<std::string, std::string>{{"romio_ds_write", "disable"}, {"romio_cb_write", "disable"}});
    succeed(MPI_File_open(MPI_COMM_WORLD, (data + "/plain").c_str(), mode, plain.get(), &files_.plain), "opening");
  }

  // An opening to read finds what was left in the tier. It comes into the file with the next one for writing.
  void read_from_tier(const std::string& data) {
    const Info info(hints_);
    const std::string path = data + "/staged";
    MPI_File file = MPI_FILE_NULL;
    succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDONLY, info.get(), &file), "opening to read");
    MPI_Offset size = 0;
    succeed(MPI_File_get_size(file, &size), "MPI_File_get_size");
    std::vector<char> back(static_cast<std::size_t>(size));
    succeed(MPI_File_read_at_all(file, 0, back.data(), static_cast<int>(size), MPI_CHAR, MPI_STATUS_IGNORE), "reading");
    check(model_.begins_with(back) && back.size() == contents_of(data + "/plain").size(),
          "what is read from the tier is not what was written");
    MPI_File_close(&file);
    succeed(MPI_File_open(MPI_COMM_WORLD, path.c_str(), MPI_MODE_RDWR, info.get(), &file), "opening again");
    MPI_File_close(&file);
  }

  // What was written before is seen by all ranks afterwards.
  void meet() {
    model_.meet();
    for (int i = 0; i < 2; ++i) {
      succeed(MPI_File_sync(files_.staged), "MPI_File_sync");
      succeed(MPI_File_sync(files_.plain), "MPI_File_sync");
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }

  void compare_sizes() {
    if (below(common_, 4) == 0) {
      const auto size = static_cast<MPI_Offset>(below(common_, 60'000));
      MPI_File_set_size(files_.staged, size);
      MPI_File_set_size(files_.plain, size);
      model_.set_size(size);
    }
    MPI_Offset staged = 0;
    MPI_Offset plain = 0;
    MPI_File_get_size(files_.staged, &staged);
    MPI_File_get_size(files_.plain, &plain);
    check(staged == plain, "MPI_File_get_size: " + std::to_string(staged) + ", must be " + std::to_string(plain));
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void run_phase() {
    const std::array units = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE};
    const MPI_Datatype unit = units[below(common_, units.size())];
    const int block = 1 + static_cast<int>(below(common_, 40));
    const bool of_array = below(common_, 2) == 0;
    const bool plain_view = ranks_.size == 1 && below(common_, 3) == 0;
    const auto displacement = static_cast<MPI_Offset>(below(common_, 100));
    // Where a read that is scattered goes beyond the end, MPICH counts what is not there: such reads are made in large files only.
    is_large_ = below(common_, 2) == 0;
    is_plain_ = plain_view;
    if (is_large_) {
      MPI_File_set_size(files_.staged, large_bytes);
      MPI_File_set_size(files_.plain, large_bytes);
      meet();
    }
    const int calls = 5 + static_cast<int>(below(common_, 10));
    MPI_Datatype made{};
    if (plain_view) {
      MPI_Type_dup(unit, &made);
    } else {
      made = of_array ? part_of_array(common_, ranks_, unit) : interleaved(own_, ranks_, unit, block);
    }
    int least_bytes = 0;
    MPI_Type_size(made, &least_bytes);
    bool nothing = least_bytes == 0;
    MPI_Allreduce(MPI_IN_PLACE, &least_bytes, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (least_bytes == 0 && least_count != 0) {
      MPI_Type_free(&made);
      made = interleaved(own_, ranks_, unit, block);
      nothing = false;
    }
    const Type tile(made);
    succeed(MPI_File_set_view(files_.staged, displacement, unit, nothing ? unit : tile.get(), "native", MPI_INFO_NULL),
            "set_view");
    succeed(MPI_File_set_view(files_.plain, displacement, unit, nothing ? unit : tile.get(), "native", MPI_INFO_NULL),
            "set_view");
    model_.set_view(displacement, unit, nothing ? unit : tile.get());
    for (int i = 0; i < calls; ++i) {
      one_call(unit, nothing);
    }
  }

  void one_call(MPI_Datatype unit, bool nothing) {
    Call call{.writes = below(common_, 3) != 0,
              .collective = below(common_, 2) == 0,
              .at_pointer = below(common_, 3) == 0,
              .way = static_cast<Way>(below(common_, 3)),
              .offset = static_cast<MPI_Offset>(below(own_, 600)),
              .count = static_cast<int>(below(own_, 30))};
    call.writes = call.writes || !(is_large_ || is_plain_);
    if (!call.writes && !is_large_) {
      // The end of the file: MPICH counts what is not there also where all ranks read.
      call.collective = false;
      call.way = Way::usual;
    }
    call.collective = call.collective || call.way == Way::split;
    call.count = nothing ? 0 : std::max(call.count, least_count);
    std::size_t origin = 0;
    const Type type(call.writes || is_large_ ? in_memory(own_, unit, origin) : one_behind_the_other(unit));
    std::vector<char> staged(memory_bytes, '.');
    if (call.writes) {
      std::generate(staged.begin(), staged.end(), [&] { return static_cast<char>(own_()); });
    }
    std::vector<char> plain = staged;
    if (!call.at_pointer && below(own_, 4) == 0) {
      MPI_File_seek(files_.staged, call.offset, MPI_SEEK_SET);
      MPI_File_seek(files_.plain, call.offset, MPI_SEEK_SET);
    }
    std::vector<char> expected = staged;
    MPI_Offset from = call.offset;
    if (call.at_pointer) {
      MPI_File_get_position(files_.plain, &from);
    }
    if (call.writes) {
      model_.write(from, staged.data() + origin, call.count, type.get());
    } else {
      model_.read(from, expected.data() + origin, call.count, type.get());
    }
    const MPI_Count plain_bytes = make_in_turn(call, plain.data() + origin, type.get());
    const MPI_Count staged_bytes = make(files_.staged, call, staged.data() + origin, type.get());
    check(staged_bytes == plain_bytes, "the status says " + std::to_string(staged_bytes) + " bytes, must be " +
                                           std::to_string(plain_bytes) + (call.writes ? ", writing" : ", reading"));
    check(!is_large_ || staged == expected,
          "what was read from the staged file differs from what must be there" + std::to_string(plain == expected));
    check(!is_large_ || plain == expected, "what was read from the plain file differs from what must be there");
    check(staged == plain, "what was read differs");
    MPI_Offset staged_at = 0;
    MPI_File_get_position(files_.staged, &staged_at);
    int unit_bytes = 0;
    MPI_Type_size(unit, &unit_bytes);
    if (call.at_pointer) {
      const MPI_Offset right = from + staged_bytes / unit_bytes;
      check(staged_at == right,
            "the pointer is at " + std::to_string(staged_at) + ", must be at " + std::to_string(right));
      // MPICH 4.0 loses count of it in collective writes.
      MPI_File_seek(files_.plain, right, MPI_SEEK_SET);
    }
  }

  // Both libraries read what lies between the pieces of a rank and write it back, over what others write at that moment.
  MPI_Count make_in_turn(const Call& call, char* memory, MPI_Datatype type) {
    MPI_Count bytes = 0;
    for (int turn = 0; turn < ranks_.size; ++turn) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (call.collective ? turn == 0 : turn == ranks_.rank) {
        bytes = make(files_.plain, call, memory, type);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return bytes;
  }

  const Ranks& ranks_;
  Random common_;
  Random own_;
  std::map<std::string, std::string> hints_;
  Pair files_;
  Model model_;
  bool is_large_ = false;
  bool is_plain_ = false;
};

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  const char* const given = std::getenv("DOVETAIL_TEST_SEED");
  std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  const std::uint64_t programs =
      given != nullptr ? 1 : static_cast<std::uint64_t>(std::max(24 / (ranks.size * ranks.size), 2));
  for (std::uint64_t i = 0; i < programs; ++i) {
    if (ranks.rank == 0) {
      std::printf("DOVETAIL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed + i));
      std::fflush(stdout);
    }
    Program(ranks, seed + i).run(arguments[1]);
  }
  return 0;
}
