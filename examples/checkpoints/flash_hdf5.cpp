// The checkpoint of FLASH through parallel HDF5: a data set for each variable, from memory with guard cells, by collective calls; what describes the blocks, by
// independent ones.
#include "flash.hpp"
#include "hdf5_file.hpp"

namespace {

using namespace programs;

void write(const Job& job, const std::string& path, int number) {
  const Hdf5File file(job, path, true);
  file.add_attribute("time", number);
  file.add_attribute("time step", 0.5 * number);
  const std::uint64_t blocks = flash::blocks_of(job);
  const Part part = part_of(blocks, job.rank, job.ranks);
  for (int i = 0; i < static_cast<int>(flash::descriptions.size()); ++i) {
    const auto& [name, each] = flash::descriptions[static_cast<std::size_t>(i)];
    const std::vector<double> numbers = flash::numbers_of(part, each, number, i);
    const std::vector<hsize_t> count = {part.count, each};
    const hid_t memory = made(H5Screate_simple(2, count.data(), nullptr));
    file.write(name, H5T_NATIVE_DOUBLE, {blocks, each}, {part.first, 0}, count, memory, numbers.data(), H5P_DEFAULT);
    H5Sclose(memory);
  }
  const std::vector<hsize_t> whole = {part.count, flash::whole_side, flash::whole_side, flash::whole_side};
  const std::vector<hsize_t> inner = {0, flash::guards, flash::guards, flash::guards};
  const std::vector<hsize_t> count = {part.count, flash::side, flash::side, flash::side};
  const hid_t memory = made(H5Screate_simple(4, whole.data(), nullptr));
  H5Sselect_hyperslab(memory, H5S_SELECT_SET, inner.data(), nullptr, count.data(), nullptr);
  for (int variable = 0; variable < flash::variables; ++variable) {
    const std::vector<double> data = flash::data_of(part, number, variable);
    file.write(flash::name_of(variable).c_str(), H5T_NATIVE_DOUBLE, {blocks, flash::side, flash::side, flash::side},
               {part.first, 0, 0, 0}, count, memory, data.data(), file.collective());
  }
  H5Sclose(memory);
}

void read(const Job& job, const std::string& path, int number) {
  const Hdf5File file(job, path, false);
  const Part part = part_of(flash::blocks_of(job), job.rank, job.ranks);
  for (int i = 0; i < static_cast<int>(flash::descriptions.size()); ++i) {
    const auto& [name, each] = flash::descriptions[static_cast<std::size_t>(i)];
    std::vector<double> numbers(part.count * each);
    file.read(name, H5T_NATIVE_DOUBLE, {part.first, 0}, {part.count, each}, numbers.data(), H5P_DEFAULT);
    check(numbers == flash::numbers_of(part, each, number, i), "comparing a description");
  }
  std::vector<double> data(part.count * flash::cells);
  for (int variable = 0; variable < flash::variables; ++variable) {
    file.read(flash::name_of(variable).c_str(), H5T_NATIVE_DOUBLE, {part.first, 0, 0, 0},
              {part.count, flash::side, flash::side, flash::side}, data.data(), file.collective());
    for (std::uint64_t i = 0; i < data.size(); ++i) {
      check(data[i] == value_of(number, variable, part.first * flash::cells + i), "comparing a variable");
    }
  }
}

}  // namespace

int main(int count, char** words) { return programs::run(count, words, write, read); }
