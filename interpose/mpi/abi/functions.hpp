// MPI's own functions, whoever stands before them.
#pragma once

#include <mpi.h>

#include "abi/symbols.hpp"

namespace dovetail::interpose::mpi {

/// Every function of MPI that is called here, as PMPI names it.
// clang-format off
#define DOVETAIL_MPI_FUNCTIONS(USE) \
  USE(Testsome) \
  USE(Testall) \
  USE(Testany) \
  USE(Test) \
  USE(Waitall) \
  USE(Waitany) USE(Waitsome) USE(Wait) USE(Initialized) USE(Finalized) USE(Query_thread) USE(Error_string) \
      USE(Error_class) USE(Abort) USE(Cancel) USE(Comm_create_errhandler) USE(Comm_get_errhandler) \
          USE(Comm_set_errhandler) USE(Errhandler_free) USE(Send) USE(Ssend) USE(Rsend) USE(Recv) USE(Sendrecv) \
              USE(Mrecv) USE(Isend) USE(Issend) USE(Irsend) USE(Irecv) USE(Imrecv) USE(Probe) USE(Mprobe) USE(Iprobe) \
                  USE(Improbe) USE(Ibarrier) USE(Ibcast) USE(Igather) USE(Igatherv) USE(Iscatter) USE(Iscatterv) \
                      USE(Iallgather) USE(Iallgatherv) USE(Ialltoall) USE(Ialltoallv) USE(Ialltoallw) USE(Ireduce) \
                          USE(Iallreduce) USE(Ireduce_scatter) USE(Ireduce_scatter_block) USE(Iscan) USE(Iexscan) \
                              USE(Ineighbor_allgather) USE(Ineighbor_allgatherv) USE(Ineighbor_alltoall) \
                                  USE(Ineighbor_alltoallv) USE(Ineighbor_alltoallw)
// clang-format on

/// Of MPI 4, for counts beyond 2^31; null where the library is older than the header.
#if MPI_VERSION >= 4
// clang-format off
#define DOVETAIL_MPI_LARGE_FUNCTIONS(USE) \
  USE(Send_c) \
  USE(Ssend_c) \
  USE(Rsend_c) USE(Recv_c) USE(Sendrecv_c) USE(Mrecv_c) USE(Isend_c) USE(Issend_c) USE(Irsend_c) USE(Irecv_c) \
      USE(Imrecv_c) USE(Ibcast_c) USE(Igather_c) USE(Igatherv_c) USE(Iscatter_c) USE(Iscatterv_c) USE(Iallgather_c) \
          USE(Iallgatherv_c) USE(Ialltoall_c) USE(Ialltoallv_c) USE(Ialltoallw_c) USE(Ireduce_c) USE(Iallreduce_c) \
              USE(Ireduce_scatter_c) USE(Ireduce_scatter_block_c) USE(Iscan_c) USE(Iexscan_c) \
                  USE(Ineighbor_allgather_c) USE(Ineighbor_allgatherv_c) USE(Ineighbor_alltoall_c) \
                      USE(Ineighbor_alltoallv_c) USE(Ineighbor_alltoallw_c)
// clang-format on
#else
#define DOVETAIL_MPI_LARGE_FUNCTIONS(USE)
#endif

struct Functions {
#define DOVETAIL_MPI_DECLARE(name) decltype(PMPI_##name)* name;
  DOVETAIL_MPI_FUNCTIONS(DOVETAIL_MPI_DECLARE)
  DOVETAIL_MPI_LARGE_FUNCTIONS(DOVETAIL_MPI_DECLARE)
#undef DOVETAIL_MPI_DECLARE

  /// @throws std::runtime_error if the library lacks one.
  explicit Functions(const Symbols& symbols) {
#define DOVETAIL_MPI_FIND(name) symbols.find(name, "MPI_" #name);
    DOVETAIL_MPI_FUNCTIONS(DOVETAIL_MPI_FIND)
#undef DOVETAIL_MPI_FIND
#define DOVETAIL_MPI_FIND(name) symbols.find_if_there(name, "MPI_" #name);
    DOVETAIL_MPI_LARGE_FUNCTIONS(DOVETAIL_MPI_FIND)
#undef DOVETAIL_MPI_FIND
  }
};

/// Those of the library of the process, once it has been found.
const Functions& mpi();

}  // namespace dovetail::interpose::mpi
