// What VPIC writes of its particles through parallel HDF5: a list for each of eight properties, of which each rank has a part. Lists of float by collective
// calls, those of int by independent ones.
#include "hdf5_file.hpp"

namespace {

using namespace programs;

constexpr int properties = 8;
constexpr int of_float = 6;
constexpr const char* names[properties] = {"x", "y", "z", "px", "py", "pz", "id1", "id2"};

std::uint64_t particles_of(const Job& job) { return static_cast<std::uint64_t>(job.bytes) / (properties * 4); }

template <class Number>
std::vector<Number> list_of(const Part& part, int number, int property) {
  std::vector<Number> list(part.count);
  for (std::uint64_t i = 0; i < part.count; ++i) {
    list[i] = static_cast<Number>(value_of(number, property, part.first + i));
  }
  return list;
}

template <class Number>
void write_list(const Hdf5File& file, const Job& job, hid_t type, int number, int property, hid_t transfer) {
  const std::uint64_t particles = particles_of(job);
  const Part part = part_of(particles, job.rank, job.ranks);
  const std::vector<Number> list = list_of<Number>(part, number, property);
  const hsize_t count = part.count;
  const hid_t memory = made(H5Screate_simple(1, &count, nullptr));
  file.write(names[property], type, {particles}, {part.first}, {part.count}, memory, list.data(), transfer);
  H5Sclose(memory);
}

template <class Number>
void read_list(const Hdf5File& file, const Job& job, hid_t type, int number, int property, hid_t transfer) {
  const Part part = part_of(particles_of(job), job.rank, job.ranks);
  std::vector<Number> list(part.count);
  file.read(names[property], type, {part.first}, {part.count}, list.data(), transfer);
  check(list == list_of<Number>(part, number, property), "comparing a list");
}

void write(const Job& job, const std::string& path, int number) {
  const Hdf5File file(job, path, true);
  for (int property = 0; property < properties; ++property) {
    if (property < of_float) {
      write_list<float>(file, job, H5T_NATIVE_FLOAT, number, property, file.collective());
    } else {
      write_list<int>(file, job, H5T_NATIVE_INT, number, property, H5P_DEFAULT);
    }
  }
}

void read(const Job& job, const std::string& path, int number) {
  const Hdf5File file(job, path, false);
  for (int property = 0; property < properties; ++property) {
    if (property < of_float) {
      read_list<float>(file, job, H5T_NATIVE_FLOAT, number, property, file.collective());
    } else {
      read_list<int>(file, job, H5T_NATIVE_INT, number, property, H5P_DEFAULT);
    }
  }
}

}  // namespace

int main(int count, char** words) { return programs::run(count, words, write, read); }
