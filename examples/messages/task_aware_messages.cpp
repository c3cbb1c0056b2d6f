#include <mpi.h>

#include "bound_messages.hpp"
#include "dovetail/mpi.hpp"

namespace messages {
namespace {

class TaskAwareMessages final : public BoundMessages {
 public:
  void send(const void* data, int bytes, int rank, int tag) override {
    dovetail::mpi::isend(data, bytes, MPI_BYTE, rank, tag, MPI_COMM_WORLD);
  }
  void receive(void* data, int bytes, int rank, int tag) override {
    dovetail::mpi::irecv(data, bytes, MPI_BYTE, rank, tag, MPI_COMM_WORLD);
  }
};

}  // namespace

std::unique_ptr<BoundMessages> task_aware_messages() { return std::make_unique<TaskAwareMessages>(); }

}  // namespace messages
