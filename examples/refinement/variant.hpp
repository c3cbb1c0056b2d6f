/// @file
/// The ways in which faces and pieces of blocks get from rank to rank.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>

#include "exchange.hpp"
#include "field.hpp"
#include "moves.hpp"

namespace refinement {

/// All ranks make it, use it and drop it together. Used by one thread, outside of tasks.
class Variant {
 public:
  Variant() = default;
  Variant(const Variant&) = delete;
  Variant& operator=(const Variant&) = delete;
  virtual ~Variant() = default;
  /// The blocks, and the faces that are exchanged, are these from now on. Both live until `run` has returned.
  virtual void begin(Field& field, const Exchange& exchange) = 0;
  /// So many stages, from stage 0 on. Then adds up each block.
  virtual void run(int stages) = 0;
  /// Makes the values of a new field, before its stage 0, of those of the old field before `stage`.
  virtual void move(const Moves& moves, Field& from, int stage, Field& to) = 0;
};

/// MPI alone. `threads`: how many share the blocks of the rank, and block in MPI; more than one need MPI_THREAD_MULTIPLE.
std::unique_ptr<Variant> make_messages_only(int threads);
/// Tasks, each of which calls MPI by itself, as task-aware MPI has them in the paper. Needs MPI_THREAD_MULTIPLE, as do the following.
std::unique_ptr<Variant> make_multiple(int workers, std::chrono::microseconds poll);
/// Tasks with the calls of <dovetail/mpi.hpp>.
std::unique_ptr<Variant> make_two_sided(int workers);
/// Tasks with the calls of <dovetail/rma.hpp> for faces; for pieces as above.
std::unique_ptr<Variant> make_one_sided(int workers);

}  // namespace refinement
