// Draining at a call of MPI, whose failure is that call's.
#pragma once

#include <mpi.h>

#include "rank_file.hpp"

namespace dovetail::interpose::mpiio {

/// When it returns MPI_SUCCESS, nothing is staged on any rank. Otherwise it fails on all of them, and each has told its error handler. Collective.
int drain_all(RankFile& staged, MPI_File file);
/// The same of drains that have ended, each as its rank says.
int agree_on_drain(const RankFile& staged, MPI_File file, const staging::FileFailure& failure);
/// As `drain_all`, for this rank.
int drain_own(RankFile& staged, MPI_File file);

}  // namespace dovetail::interpose::mpiio
