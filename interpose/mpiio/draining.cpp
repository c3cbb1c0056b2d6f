#include "draining.hpp"

#include "agreement.hpp"
#include "failures.hpp"

namespace dovetail::interpose::mpiio {

using staging::FileFailure;

namespace {

int failed_drain(const RankFile& staged, MPI_File file, const FileFailure& failure) {
  if (failure) {
    tell(text_of_drain(failure, staged.path(), staged.folder()));
  }
  return fail(file, MPI_ERR_IO,
              failure ? text_of_drain(failure, staged.path(), staged.folder())
                      : "another rank could not drain " + staged.path());
}

}  // namespace

int drain_all(RankFile& staged, MPI_File file) {
  return agree_on_drain(staged, file, without_exceptions("drain", [&] { return staged.drain(); }));
}

int agree_on_drain(const RankFile& staged, MPI_File file, const FileFailure& failure) {
  return any_failed(staged.communicator(), static_cast<bool>(failure)) ? failed_drain(staged, file, failure)
                                                                       : MPI_SUCCESS;
}

int drain_own(RankFile& staged, MPI_File file) {
  const FileFailure failure = without_exceptions("drain", [&] { return staged.drain(); });
  return failure ? failed_drain(staged, file, failure) : MPI_SUCCESS;
}

}  // namespace dovetail::interpose::mpiio
