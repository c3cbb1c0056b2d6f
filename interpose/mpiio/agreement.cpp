#include "agreement.hpp"

#include "functions.hpp"

namespace dovetail::interpose::mpiio {

void agree_on_largest(MPI_Comm communicator, std::span<std::int64_t> numbers) {
  pmpi().Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), handles().int64, handles().largest,
                   communicator);
}

bool any_failed(MPI_Comm communicator, bool failed) {
  std::int64_t number = failed ? 1 : 0;
  agree_on_largest(communicator, {&number, 1});
  return number != 0;
}

}  // namespace dovetail::interpose::mpiio
