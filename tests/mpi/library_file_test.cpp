// By which names MPI libraries of systems are known that this machine does not have.
// One thread.
#include "comm/mpi/library_file.hpp"

#include <gtest/gtest.h>

namespace dovetail::comm::mpi {
namespace {

TEST(LibraryFile, IsTheLibraryOfEachSystem) {
  for (const char* path :
       {"/usr/lib/x86_64-linux-gnu/libmpich.so.12", "/usr/lib64/openmpi/lib/libmpi.so.40", "libmpi.so",
        "/opt/intel/mpi/lib/release/libmpi.so.12", "/opt/cray/pe/lib64/libmpi_gnu_123.so.12",
        "/opt/cray/pe/lib64/libmpi_cray.so.12", "libmpi_nvidia.so", "libmpi_amd.so.12"}) {
    EXPECT_TRUE(is_library_file(path)) << path;
  }
}

TEST(LibraryFile, OthersBesideItAreNot) {
  for (const char* path :
       {"libmpi_cxx.so.40", "libmpicxx.so.12", "libmpi_mpifh.so.40", "libmpifort.so.12", "libmpi_java.so",
        "libmpi_gtl_cuda.so.0", "libmpi_gnutls.so", "libmpi_gnu", "/opt/libmpi.so/libother.so", "libmpi_"}) {
    EXPECT_FALSE(is_library_file(path)) << path;
  }
}

}  // namespace
}  // namespace dovetail::comm::mpi
