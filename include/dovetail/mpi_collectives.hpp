/// @file
/// Collectives as parts of tasks. Included by <dovetail/mpi.hpp>, whose rules hold here.
///
/// Each has the parameters of MPI's function of that name, with counts of `int`, or with an `mpi.h` of MPI 4 wider ones. All ranks of a communicator begin its collectives in the same
/// order, and all in these forms. MPI does not match them with its blocking ones. Buffers, and arrays of counts, displacements and types, live
/// until the operation has ended.
#pragma once

#include "dovetail/detail/mpi_operations.hpp"

namespace dovetail::mpi {

/// @name Collectives
/// Without an `i` in front they suspend the current task until they have ended (outside of a task they block), and throw `Error`. With an
/// `i` they are bound to the current task and never suspend; a failure fails the task with `Error`. @throws std::logic_error outside of a task.
/// @{
inline constexpr detail::Collective<&MPI_Ibarrier, true> barrier{"MPI_Barrier"};
inline constexpr detail::Collective<&MPI_Ibarrier, false> ibarrier{"MPI_Ibarrier"};
#if MPI_VERSION >= 4
#define DOVETAIL_MPI_COLLECTIVE(function, call, started)                                                        \
  inline constexpr detail::CollectiveOfEither<&MPI_##started, &MPI_##started##_c, true> function{"MPI_" #call}; \
  inline constexpr detail::CollectiveOfEither<&MPI_##started, &MPI_##started##_c, false> i##function{"MPI_" #started};
#else
#define DOVETAIL_MPI_COLLECTIVE(function, call, started)                            \
  inline constexpr detail::Collective<&MPI_##started, true> function{"MPI_" #call}; \
  inline constexpr detail::Collective<&MPI_##started, false> i##function{"MPI_" #started};
#endif
DOVETAIL_MPI_COLLECTIVE(bcast, Bcast, Ibcast)
DOVETAIL_MPI_COLLECTIVE(gather, Gather, Igather)
DOVETAIL_MPI_COLLECTIVE(gatherv, Gatherv, Igatherv)
DOVETAIL_MPI_COLLECTIVE(scatter, Scatter, Iscatter)
DOVETAIL_MPI_COLLECTIVE(scatterv, Scatterv, Iscatterv)
DOVETAIL_MPI_COLLECTIVE(allgather, Allgather, Iallgather)
DOVETAIL_MPI_COLLECTIVE(allgatherv, Allgatherv, Iallgatherv)
DOVETAIL_MPI_COLLECTIVE(alltoall, Alltoall, Ialltoall)
DOVETAIL_MPI_COLLECTIVE(alltoallv, Alltoallv, Ialltoallv)
DOVETAIL_MPI_COLLECTIVE(alltoallw, Alltoallw, Ialltoallw)
DOVETAIL_MPI_COLLECTIVE(reduce, Reduce, Ireduce)
DOVETAIL_MPI_COLLECTIVE(allreduce, Allreduce, Iallreduce)
DOVETAIL_MPI_COLLECTIVE(reduce_scatter, Reduce_scatter, Ireduce_scatter)
DOVETAIL_MPI_COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, Ireduce_scatter_block)
DOVETAIL_MPI_COLLECTIVE(scan, Scan, Iscan)
DOVETAIL_MPI_COLLECTIVE(exscan, Exscan, Iexscan)
DOVETAIL_MPI_COLLECTIVE(neighbor_allgather, Neighbor_allgather, Ineighbor_allgather)
DOVETAIL_MPI_COLLECTIVE(neighbor_allgatherv, Neighbor_allgatherv, Ineighbor_allgatherv)
DOVETAIL_MPI_COLLECTIVE(neighbor_alltoall, Neighbor_alltoall, Ineighbor_alltoall)
DOVETAIL_MPI_COLLECTIVE(neighbor_alltoallv, Neighbor_alltoallv, Ineighbor_alltoallv)
DOVETAIL_MPI_COLLECTIVE(neighbor_alltoallw, Neighbor_alltoallw, Ineighbor_alltoallw)
#undef DOVETAIL_MPI_COLLECTIVE
/// @}

}  // namespace dovetail::mpi
