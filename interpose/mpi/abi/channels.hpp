// What traces call communicators.
#pragma once

#include <mpi.h>

#include <map>
#include <string>

#include "comm/mpi/operation.hpp"

namespace dovetail::interpose::mpi {

/// By the thread that has the turn. MPI itself keeps what has been found of a communicator, as an attribute, and forgets it when the program frees
/// that: its handle may be used again.
class Channels {
 public:
  explicit Channels(MPI_Comm world);
  /// Lives for ever; null for an intercommunicator, and where there is no memory for it.
  const comm::mpi::Channel* of(MPI_Comm communicator) noexcept;

 private:
  const comm::mpi::Channel* make(MPI_Comm communicator);

  const MPI_Comm world_;
  const comm::mpi::Channel of_world_;
  bool has_key_ = false;
  int key_ = 0;
  std::map<std::string, unsigned> made_;  ///< How many have been called so.
};

}  // namespace dovetail::interpose::mpi
