// MPI's calls that move data of files, with counts of each size.
#include "data_calls.hpp"
#include "draining.hpp"
#include "failures.hpp"
#include "functions.hpp"
#include "open_files.hpp"
#include "shown.hpp"

namespace dovetail::interpose::mpiio {
namespace {

Memory memory(const void* data, MPI_Count count, MPI_Datatype type) {
  return {.address = const_cast<void*>(data), .count = count, .type = type};
}

// It is done at once; its end tells how much.
int tell_begin(RankFile& staged, const Transferred& outcome) {
  if (outcome.code == MPI_SUCCESS) {
    staged.set_begun(outcome.bytes);
  }
  return outcome.code;
}

// The MPI library does it, behind what is staged.
int before_shared_pointer(MPI_File file, int (*drain)(RankFile& staged, MPI_File file)) {
  const auto staged = find_staged(file);
  if (staged == nullptr) {
    return MPI_SUCCESS;
  }
  if (staged->tells_of_shared_pointer()) {
    tell("what goes to " + staged->path() +
         " by a shared or ordered pointer is written through, without the local tier");
  }
  return drain(*staged, file);
}

// `library`: the MPI library's own, which knows of what was begun there.
template <class Library>
int end(MPI_File file, MPI_Status* status, const Library& library) {
  const auto staged = find_file(file);
  const auto begun = staged == nullptr ? std::nullopt : staged->take_begun();
  return begun ? tell_status({.code = MPI_SUCCESS, .bytes = *begun}, status) : library();
}

}  // namespace
}  // namespace dovetail::interpose::mpiio

using namespace dovetail::interpose::mpiio;

extern "C" {

#define COUNT int
#define NAMED(name) name
#define LIBRARY(name) pmpi().name
#include "data_symbols.hpp"
#undef COUNT
#undef NAMED
#undef LIBRARY

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define NAMED(name) name##_c
#define LIBRARY(name) pmpi().name##_c
#include "data_symbols.hpp"
#undef COUNT
#undef NAMED
#undef LIBRARY
#endif

#define END(name, Buffer)                                                      \
  SHOWN int MPI_##name(MPI_File file, Buffer data, MPI_Status* status) {       \
    return end(file, status, [&] { return pmpi().name(file, data, status); }); \
  }
END(File_write_at_all_end, const void*)
END(File_write_all_end, const void*)
END(File_read_at_all_end, void*)
END(File_read_all_end, void*)
#undef END
}
