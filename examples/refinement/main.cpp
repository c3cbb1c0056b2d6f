#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "options.hpp"
#include "rank_program/output_file.hpp"
#include "rank_program/program.hpp"
#include "report.hpp"
#include "simulation.hpp"
#include "variant.hpp"

namespace {

using namespace refinement;

int level_of(const Options& options) {
  return options.variant == "messages-only" ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
}

std::unique_ptr<Variant> make_variant(const Options& options, int workers) {
  if (options.variant == "multiple") {
    return make_multiple(workers, std::chrono::microseconds(options.poll_microseconds));
  }
  if (options.variant == "two-sided") {
    return make_two_sided(workers);
  }
  if (options.variant == "one-sided") {
    return make_one_sided(workers);
  }
  return make_messages_only(workers);
}

void require_blocks(const Options& options, int ranks) {
  const int least = 1 << (3 * options.coarsest);
  if (least < ranks) {
    throw BadInput("--coarsest is " + std::to_string(options.coarsest) + ": there may be as few as " +
                   std::to_string(least) + " blocks, and each of the " + std::to_string(ranks) + " ranks needs one");
  }
}

/// What rank 0 may have found is wrong on all ranks.
template <class Step>
void by_first(int rank, const Step& step) {
  std::string wrong;
  if (rank == 0) {
    try {
      step();
    } catch (const BadInput& error) {
      wrong = error.what();
    }
  }
  int is_wrong = wrong.empty() ? 0 : 1;
  MPI_Bcast(&is_wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (is_wrong != 0) {
    throw BadInput(wrong);
  }
}

/// The exit status. @throws BadInput on all ranks alike, or what a task has thrown.
int run(const Options& options, int rank, int ranks) {
  require_blocks(options, ranks);
  by_first(rank, [&] { rank_program::prepare_output(options, 0); });
  Result result{.ranks = ranks, .workers = rank_program::workers_of(options, ranks)};
  {
    const std::unique_ptr<Variant> variant = make_variant(options, result.workers);
    for (int turn = -options.warmup; turn < options.repeat; ++turn) {
      Outcome outcome = simulate(options, *variant, rank, ranks);
      double refining = 0;
      MPI_Reduce(&outcome.refining_seconds, &refining, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
      if (turn >= 0) {
        result.seconds.push_back(outcome.seconds);
        result.refining_seconds.push_back(refining);
      }
      if (turn + 1 == options.repeat) {
        result.blocks = outcome.tree.size();
        result.updates = outcome.updates;
        MPI_Reduce(&outcome.moved, &result.moved, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        result.checksum = checksum_of(options, outcome, rank, ranks);
        if (!options.output.empty()) {
          write_output(options, outcome, rank, ranks);
        }
      }
    }
  }
  if (rank == 0) {
    print(options, result);
  }
  return 0;
}

// The starter ends the other ranks when one ends without MPI_Finalize, after it has passed on what that one said; with MPI_Abort, MPICH's starter
// does not pass it on.
void end_all() {
  std::fflush(nullptr);
  ::_exit(1);
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  const rank_program::Steps steps{.parse = [&] { options = parse_options(count, arguments); },
                                  .level = [&] { return level_of(options); },
                                  .run = [&](int rank, int ranks) { return run(options, rank, ranks); },
                                  .end_all = end_all};
  return rank_program::main_of("refinement", options, steps, count, arguments);
}
