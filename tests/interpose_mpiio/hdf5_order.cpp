// Parallel HDF5 counts on the order of ranks' writes where MPI promises none: of metadata, which they write in turn and read again when the cache has dropped
// them, of fill values, and of data that it writes collectively over others. Called with a folder that it may make.
#include <hdf5.h>

#include <array>
#include <string>
#include <vector>

#include "interpose_mpiio/staging_ranks.hpp"

namespace {

using namespace dovetail::test;

constexpr int each = 512;    // numbers of a rank in a data set
constexpr int objects = 30;  // more than the cache of metadata has space for
constexpr int sets = 6;

hid_t made(hid_t identifier, const char* call) {
  check(identifier >= 0, call);
  return identifier;
}

class File {
 public:
  File(const std::string& path, MPI_Info info, bool creates) {
    const hid_t access = made(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate");
    check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, info) >= 0, "H5Pset_fapl_mpio");
    H5AC_cache_config_t cache{};
    cache.version = H5AC__CURR_CACHE_CONFIG_VERSION;
    H5Pget_mdc_config(access, &cache);
    cache.set_initial_size = true;
    cache.initial_size = cache.min_size = cache.max_size = std::size_t{16} << 10;
    cache.dirty_bytes_threshold = std::size_t{16} << 10;
    check(H5Pset_mdc_config(access, &cache) >= 0, "H5Pset_mdc_config");
    file_ = made(creates ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                         : H5Fopen(path.c_str(), H5F_ACC_RDONLY, access),
                 "opening");
    H5Pclose(access);
    collective_ = made(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    H5Pset_dxpl_mpio(collective_, H5FD_MPIO_COLLECTIVE);
  }
  ~File() {
    H5Pclose(collective_);
    check(H5Fclose(file_) >= 0, "H5Fclose");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  hid_t get() const noexcept { return file_; }
  hid_t collective() const noexcept { return collective_; }

 private:
  hid_t file_ = -1;
  hid_t collective_ = -1;
};

void add_object(const File& file, int number) {
  const hid_t group =
      made(H5Gcreate2(file.get(), ("object" + std::to_string(number)).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
           "H5Gcreate2");
  const hsize_t count = each;
  const hid_t space = made(H5Screate_simple(1, &count, nullptr), "H5Screate_simple");
  const hid_t attribute =
      made(H5Acreate2(group, "numbers", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT), "H5Acreate2");
  const std::vector<int> numbers(each, number);
  check(H5Awrite(attribute, H5T_NATIVE_INT, numbers.data()) >= 0, "H5Awrite");
  H5Aclose(attribute);
  H5Sclose(space);
  H5Gclose(group);
}

void check_object(const File& file, int number) {
  const std::string name = "object" + std::to_string(number);
  const hid_t attribute =
      made(H5Aopen_by_name(file.get(), name.c_str(), "numbers", H5P_DEFAULT, H5P_DEFAULT), "H5Aopen_by_name");
  std::vector<int> numbers(each);
  check(H5Aread(attribute, H5T_NATIVE_INT, numbers.data()) >= 0, "H5Aread");
  check(numbers == std::vector<int>(each, number), "an attribute has other numbers");
  H5Aclose(attribute);
}

// Of one part for each rank.
hid_t create_set(const Ranks& ranks, const File& file, const std::string& name, bool in_chunks) {
  const hsize_t count = static_cast<hsize_t>(ranks.size) * each;
  const hsize_t chunk = each;
  const int fill = -5;
  const hid_t creation = made(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
  H5Pset_fill_value(creation, H5T_NATIVE_INT, &fill);
  if (in_chunks) {
    H5Pset_chunk(creation, 1, &chunk);
  }
  const hid_t space = made(H5Screate_simple(1, &count, nullptr), "H5Screate_simple");
  const hid_t set = made(
      H5Dcreate2(file.get(), name.c_str(), H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT), "H5Dcreate2");
  H5Sclose(space);
  H5Pclose(creation);
  return set;
}

// Collective, where the transfer is.
template <class Use>
void with_part(hid_t set, int part, const Use& use) {
  const hsize_t start = static_cast<hsize_t>(part) * each;
  const hsize_t count = each;
  const hid_t space = made(H5Dget_space(set), "H5Dget_space");
  const hid_t memory = made(H5Screate_simple(1, &count, nullptr), "H5Screate_simple");
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &count, nullptr);
  check(use(memory, space) >= 0, "moving a part");
  H5Sclose(memory);
  H5Sclose(space);
}

void write_part(const File& file, hid_t set, int part, int value) {
  const std::vector<int> numbers(each, value);
  with_part(set, part, [&](hid_t memory, hid_t space) {
    return H5Dwrite(set, H5T_NATIVE_INT, memory, space, file.collective(), numbers.data());
  });
}

void check_part(const File& file, hid_t set, int part, int value) {
  std::vector<int> numbers(each);
  with_part(set, part, [&](hid_t memory, hid_t space) {
    return H5Dread(set, H5T_NATIVE_INT, memory, space, file.collective(), numbers.data());
  });
  check(numbers == std::vector<int>(each, value), "part " + std::to_string(part) + " has " +
                                                      std::to_string(numbers[0]) + " where " + std::to_string(value) +
                                                      " was written");
}

std::string set_name(int number) { return "set" + std::to_string(number); }

void metadata_that_the_cache_has_dropped(const Ranks& /*ranks*/, const std::string& path, MPI_Info info) {
  {
    const File file(path, info, true);
    for (int i = 0; i < objects; ++i) {
      add_object(file, i);
    }
    for (int i = 0; i < objects; ++i) {
      check_object(file, i);
    }
  }
  const File file(path, MPI_INFO_NULL, false);
  for (int i = 0; i < objects; ++i) {
    check_object(file, i);
  }
}

// Ranks fill chunks in turn, and each writes a part that another one has filled.
void fill_values(const Ranks& ranks, const std::string& path, MPI_Info info) {
  for (const bool in_chunks : {false, true}) {
    {
      const File file(path, info, true);
      for (int i = 0; i < sets; ++i) {
        const hid_t set = create_set(ranks, file, set_name(i), in_chunks);
        write_part(file, set, (ranks.rank + i) % ranks.size, i * ranks.size + ranks.rank);
        H5Dclose(set);
      }
    }
    const File file(path, MPI_INFO_NULL, false);
    for (int i = 0; i < sets; ++i) {
      const hid_t set = made(H5Dopen2(file.get(), set_name(i).c_str(), H5P_DEFAULT), "H5Dopen2");
      check_part(file, set, (ranks.rank + i) % ranks.size, i * ranks.size + ranks.rank);
      H5Dclose(set);
    }
  }
}

void data_of_others(const Ranks& ranks, const std::string& path, MPI_Info info) {
  const int next = (ranks.rank + 1) % ranks.size;
  const int before = (ranks.rank + ranks.size - 1) % ranks.size;
  {
    const File file(path, info, true);
    for (int i = 0; i < sets; ++i) {
      const hid_t set = create_set(ranks, file, set_name(i), false);
      write_part(file, set, ranks.rank, 1000 + ranks.rank);
      write_part(file, set, next, 2000 + ranks.rank);
      check_part(file, set, ranks.rank, 2000 + before);  // collective calls see what is staged elsewhere
      write_part(file, set, next, 3000 + ranks.rank);
      H5Dclose(set);
    }
  }
  const File file(path, MPI_INFO_NULL, false);
  for (int i = 0; i < sets; ++i) {
    const hid_t set = made(H5Dopen2(file.get(), set_name(i).c_str(), H5P_DEFAULT), "H5Dopen2");
    check_part(file, set, next, 3000 + ranks.rank);
    H5Dclose(set);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  const std::string folder = empty_folder(ranks, arguments[1]);
  const std::string tier = empty_folder(ranks, folder + "/tier");
  std::vector<std::string> ways = {"flush_onclose"};
  if (std::getenv("DOVETAIL_TEST_LONG") != nullptr) {
    ways.emplace_back("flush_immediate");
  }
  for (const std::string& flush : ways) {
    const Info info(std::map<std::string, std::string>{
        {"e10_cache", "enable"}, {"e10_cache_path", tier}, {"e10_cache_flush_flag", flush}});
    metadata_that_the_cache_has_dropped(ranks, folder + "/metadata.h5", info.get());
    fill_values(ranks, folder + "/filled.h5", info.get());
    data_of_others(ranks, folder + "/data.h5", info.get());
  }
  return 0;
}
