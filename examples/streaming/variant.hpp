/// @file
/// The ways in which blocks get from stage to stage.
#pragma once

#include <mpi.h>

#include <memory>

#include "options.hpp"
#include "part.hpp"

namespace streaming {

/// All ranks make it, run it and drop it together.
class Variant {
 public:
  Variant() = default;
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;
  virtual ~Variant() = default;
  /// All chunks through the stage of this rank. Returns when everything has been sent; may be called again.
  virtual void run() = 0;
};

/// MPI alone. `threads`: how many share the blocks of the rank; more than one need MPI_THREAD_MULTIPLE.
std::unique_ptr<Variant> make_messages_only(Part& part, int threads);
/// Tasks, each of which calls MPI by itself, as task-aware MPI has them in the paper on TAGASPI (docs/papers.md). Needs
/// MPI_THREAD_MULTIPLE.
std::unique_ptr<Variant> make_multiple(Part& part, int workers, int poll_microseconds);
/// Tasks with the calls of <dovetail/mpi.hpp>.
std::unique_ptr<Variant> make_two_sided(Part& part, int workers);
/// Tasks with the calls of <dovetail/rma.hpp>. The part receives into memory of the variant from then on.
std::unique_ptr<Variant> make_one_sided(Part& part, int workers);

}  // namespace streaming
