// What one-sided communication between nodes needs of the MPI library of the process.
#pragma once

#include <mpi.h>

#include "comm/rma/message_library.hpp"

namespace dovetail::interpose::mpi {

/// What mpi.h names by an object of the library.
struct MessageHandles {
  MPI_Comm world;
  MPI_Comm self;
  MPI_Errhandler returns;
  MPI_Datatype byte;
  MPI_Request null_request;
};

/// Made once; lives for ever.
comm::rma::MessageLibrary* make_message_library(const MessageHandles& handles);

}  // namespace dovetail::interpose::mpi
