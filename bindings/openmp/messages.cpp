// Requests of MPI, which become one call of the task.
#include <cerrno>
#include <cstring>
#include <new>

#include "call.hpp"

using namespace dovetail::omp;

void dovetail_omp_mpi_requests(dovetail_omp_task* io, int abi, const void* requests, size_t size, size_t count,
                               void* statuses) {
  if (io == nullptr) {
    stop_program("dovetail_omp_mpi_iwait", "the task is null: pass what dovetail_omp_begin returned");
  }
  if (count == 0) {
    return;
  }
  Call& call = add_call(*io);
  call.kind = Kind::messages;
  call.abi = static_cast<dovetail::detail::mpi::Abi>(abi);
  call.size = count;
  call.statuses = statuses;
  call.handles.reset(new (std::nothrow) std::byte[count * size]);
  if (call.handles == nullptr) {
    // The requests go on, and no task would know when their buffers are free.
    stop_program("dovetail_omp_mpi_iwait", "out of memory");
  }
  std::memcpy(call.handles.get(), requests, count * size);
  gather(*io, call);
}
