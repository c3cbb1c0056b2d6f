/// @file
/// What an operation of MPI that failed throws. Does not need MPI.
#pragma once

#include <stdexcept>
#include <string>

namespace dovetail::mpi {

/// An operation of MPI failed. `what()` names the call, the other rank, the tag and the communicator, and says what MPI says.
class Error : public std::runtime_error {
 public:
  /// `what` is the whole text; the numbers are MPI's.
  Error(const std::string& what, int code, int error_class, std::string call, int peer, int tag);
  int code() const noexcept { return code_; }                 ///< As MPI returned it.
  int error_class() const noexcept { return error_class_; }   ///< `MPI_Error_class` of it.
  const std::string& call() const noexcept { return call_; }  ///< "MPI_Recv".
  int peer() const noexcept { return peer_; }  ///< The rank of the other side; negative: there is none, or any.
  int tag() const noexcept { return tag_; }    ///< Negative: there is none, or any.

 private:
  int code_;
  int error_class_;
  std::string call_;
  int peer_;
  int tag_;
};

}  // namespace dovetail::mpi
