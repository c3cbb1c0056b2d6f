#include "functions.hpp"

#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "comm/mpi/library_file.hpp"

namespace dovetail::interpose::mpiio {
namespace {

#ifdef OPEN_MPI
constexpr const char* abi_name = "Open MPI";
constexpr const char* own_object = "ompi_mpi_byte";
Handles find_handles(const mpi::Symbols& symbols) {
  return {static_cast<MPI_Comm>(symbols.find_object("ompi_mpi_comm_world")),
          static_cast<MPI_Comm>(symbols.find_object("ompi_mpi_comm_self")),
          static_cast<MPI_Comm>(symbols.find_object("ompi_mpi_comm_null")),
          static_cast<MPI_Datatype>(symbols.find_object("ompi_mpi_byte")),
          static_cast<MPI_Datatype>(symbols.find_object("ompi_mpi_int64_t")),
          static_cast<MPI_Op>(symbols.find_object("ompi_mpi_op_max")),
          static_cast<MPI_File>(symbols.find_object("ompi_mpi_file_null")),
          static_cast<MPI_Info>(symbols.find_object("ompi_mpi_info_null")),
          static_cast<MPI_Datatype>(symbols.find_object("ompi_mpi_datatype_null"))};
}
#else
constexpr const char* abi_name = "MPICH";
Handles find_handles(const mpi::Symbols& /*symbols*/) {
  return {MPI_COMM_WORLD, MPI_COMM_SELF, MPI_COMM_NULL, MPI_BYTE,         MPI_INT64_T,
          MPI_MAX,        MPI_FILE_NULL, MPI_INFO_NULL, MPI_DATATYPE_NULL};
}
#endif

// Of this binary interface.
bool is_ours(const char* path) {
#ifdef OPEN_MPI
  return mpi::Symbols(path).find_object_if_there(own_object) != nullptr;
#else
  return mpi::Symbols(path).find_object_if_there("ompi_mpi_byte") == nullptr;
#endif
}

std::string path_of_library() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* information, std::size_t, void* into) {
        auto& found = *static_cast<std::string*>(into);
        if (found.empty() && comm::mpi::is_library_file(information->dlpi_name)) {
          found = information->dlpi_name;
        }
        return 0;
      },
      &path);
  return path;
}

struct Library {
  mpi::Symbols symbols;
  Functions functions;
  Handles handles;
  explicit Library(const std::string& path)
      : symbols(path.c_str()), functions(symbols), handles(find_handles(symbols)) {}
};

const Library& library() noexcept {
  static const Library* const found = [] {
    try {
      const std::string path = path_of_library();
      if (path.empty() || !is_ours(path.c_str())) {
        throw std::runtime_error(
            "the program was not linked with it; load the library of Dovetail that is for its own");
      }
      return new Library(path);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "dovetail: libdovetail-mpiio for %s cannot be used: %s\n", abi_name, failure.what());
      std::_Exit(2);
    }
  }();
  return *found;
}

}  // namespace

Functions::Functions(const mpi::Symbols& symbols) {
#define DOVETAIL_MPIIO_FIND(name) symbols.find(name, "MPI_" #name);
  DOVETAIL_MPIIO_FUNCTIONS(DOVETAIL_MPIIO_FIND)
#undef DOVETAIL_MPIIO_FIND
#if MPI_VERSION >= 4
#define DOVETAIL_MPIIO_FIND(name) symbols.find_if_there(name##_c, "MPI_" #name "_c");
  DOVETAIL_MPIIO_LARGE_CALLS(DOVETAIL_MPIIO_FIND)
  DOVETAIL_MPIIO_FIND(Type_get_envelope)
#undef DOVETAIL_MPIIO_FIND
#endif
}

const Functions& pmpi() { return library().functions; }
const Handles& handles() { return library().handles; }
ErrorMaker library_error_maker() {
  static const auto found =
      reinterpret_cast<ErrorMaker>(library().symbols.find_object_if_there("MPIR_Err_create_code"));
  return found;
}

}  // namespace dovetail::interpose::mpiio
