// Requests of MPI, which become one request of the task.
#include <cerrno>
#include <cstring>
#include <new>

#include "request.hpp"

using namespace dovetail::omp;

void dovetail_omp_mpi_requests(dovetail_omp_task* io, int abi, const void* requests, size_t size, size_t count,
                               void* statuses) {
  if (io == nullptr) {
    stop_program("dovetail_omp_mpi_iwait", "the task is null: pass what dovetail_omp_begin returned");
  }
  if (count == 0) {
    return;
  }
  Request& request = add_request(*io);
  request.kind = Kind::messages;
  request.abi = static_cast<dovetail::detail::mpi::Abi>(abi);
  request.size = count;
  request.statuses = statuses;
  request.handles.reset(new (std::nothrow) std::byte[count * size]);
  if (request.handles == nullptr) {
    // The requests go on, and no task would know when their buffers are free.
    stop_program("dovetail_omp_mpi_iwait", "out of memory");
  }
  std::memcpy(request.handles.get(), requests, count * size);
  gather(*io, request);
}
