// The checkpoint of FLASH through PnetCDF: a variable for each of the mesh's, from memory with guard cells, by collective calls; what describes the blocks, by
// calls that PnetCDF brings together.
#include <pnetcdf.h>

#include <algorithm>

#include "flash.hpp"

namespace {

using namespace programs;

void made(int code) { check(code == NC_NOERR, code == NC_NOERR ? "" : ncmpi_strerror(code)); }

std::string variable_of(const char* description) {
  std::string name = description;
  std::ranges::replace(name, ' ', '_');
  return name;
}

MPI_Datatype inner_cells(int blocks) {
  const int whole[4] = {blocks, flash::whole_side, flash::whole_side, flash::whole_side};
  const int inner[4] = {blocks, flash::side, flash::side, flash::side};
  const int start[4] = {0, flash::guards, flash::guards, flash::guards};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(4, whole, inner, start, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

void write(const Job& job, const std::string& path, int number) {
  const std::uint64_t blocks = flash::blocks_of(job);
  const Part part = part_of(blocks, job.rank, job.ranks);
  int file = 0;
  made(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, job.info, &file));
  const double time = number;
  made(ncmpi_put_att_double(file, NC_GLOBAL, "time", NC_DOUBLE, 1, &time));
  int dimensions[4] = {};
  made(ncmpi_def_dim(file, "blocks", static_cast<MPI_Offset>(blocks), &dimensions[0]));
  const char* const sides[] = {"z", "y", "x"};
  for (int i = 0; i < 3; ++i) {
    made(ncmpi_def_dim(file, sides[i], flash::side, &dimensions[i + 1]));
  }
  std::vector<int> described;
  for (const auto& [name, each] : flash::descriptions) {
    int of_each[2] = {dimensions[0], 0};
    made(ncmpi_def_dim(file, ("of_" + variable_of(name)).c_str(), static_cast<MPI_Offset>(each), &of_each[1]));
    made(ncmpi_def_var(file, variable_of(name).c_str(), NC_DOUBLE, 2, of_each, &described.emplace_back()));
  }
  std::vector<int> variables(flash::variables);
  for (int i = 0; i < flash::variables; ++i) {
    made(ncmpi_def_var(file, flash::name_of(i).c_str(), NC_DOUBLE, 4, dimensions,
                       &variables[static_cast<std::size_t>(i)]));
  }
  made(ncmpi_enddef(file));
  std::vector<std::vector<double>> numbers;
  std::vector<int> requests;
  for (int i = 0; i < static_cast<int>(described.size()); ++i) {
    const std::uint64_t each = flash::descriptions[static_cast<std::size_t>(i)].each;
    numbers.push_back(flash::numbers_of(part, each, number, i));
    const MPI_Offset start[2] = {static_cast<MPI_Offset>(part.first), 0};
    const MPI_Offset count[2] = {static_cast<MPI_Offset>(part.count), static_cast<MPI_Offset>(each)};
    made(ncmpi_iput_vara_double(file, described[static_cast<std::size_t>(i)], start, count, numbers.back().data(),
                                &requests.emplace_back()));
  }
  std::vector<int> codes(requests.size());
  made(ncmpi_wait_all(file, static_cast<int>(requests.size()), requests.data(), codes.data()));
  for (const int code : codes) {
    made(code);
  }
  MPI_Datatype memory = inner_cells(static_cast<int>(part.count));
  const MPI_Offset start[4] = {static_cast<MPI_Offset>(part.first), 0, 0, 0};
  const MPI_Offset count[4] = {static_cast<MPI_Offset>(part.count), flash::side, flash::side, flash::side};
  for (int i = 0; i < flash::variables; ++i) {
    const std::vector<double> data = flash::data_of(part, number, i);
    made(ncmpi_put_vara_all(file, variables[static_cast<std::size_t>(i)], start, count, data.data(), 1, memory));
  }
  MPI_Type_free(&memory);
  made(ncmpi_close(file));
}

void read(const Job& job, const std::string& path, int number) {
  const Part part = part_of(flash::blocks_of(job), job.rank, job.ranks);
  int file = 0;
  made(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, job.info, &file));
  const MPI_Offset start[4] = {static_cast<MPI_Offset>(part.first), 0, 0, 0};
  for (int i = 0; i < static_cast<int>(flash::descriptions.size()); ++i) {
    const auto& [name, each] = flash::descriptions[static_cast<std::size_t>(i)];
    int variable = 0;
    made(ncmpi_inq_varid(file, variable_of(name).c_str(), &variable));
    const MPI_Offset count[2] = {static_cast<MPI_Offset>(part.count), static_cast<MPI_Offset>(each)};
    std::vector<double> numbers(part.count * each);
    made(ncmpi_get_vara_double_all(file, variable, start, count, numbers.data()));
    check(numbers == flash::numbers_of(part, each, number, i), "comparing a description");
  }
  const MPI_Offset count[4] = {static_cast<MPI_Offset>(part.count), flash::side, flash::side, flash::side};
  std::vector<double> data(part.count * flash::cells);
  for (int i = 0; i < flash::variables; ++i) {
    int variable = 0;
    made(ncmpi_inq_varid(file, flash::name_of(i).c_str(), &variable));
    made(ncmpi_get_vara_double_all(file, variable, start, count, data.data()));
    for (std::uint64_t at = 0; at < data.size(); ++at) {
      check(data[at] == value_of(number, i, part.first * flash::cells + at), "comparing a variable");
    }
  }
  made(ncmpi_close(file));
}

}  // namespace

int main(int count, char** words) { return programs::run(count, words, write, read); }
