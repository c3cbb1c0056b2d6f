#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <thread>

#include "options.hpp"
#include "report.hpp"
#include "simulation.hpp"
#include "variant.hpp"

namespace {

using namespace refinement;

int level_of(const Options& options) {
  return options.variant == "messages-only" ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
}

/// Those of this rank.
int workers_of(const Options& options, int ranks) {
  if (options.variant == "messages-only") {
    return 1;
  }
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return options.workers > 0 ? options.workers : std::max(1, cores / ranks);
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

/// @throws BadInput on all ranks alike, or what a task has thrown.
void run(const Options& options, int rank, int ranks) {
  require_blocks(options, ranks);
  by_first(rank, [&] { prepare_output(options); });
  Result result{.ranks = ranks, .workers = workers_of(options, ranks)};
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
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  std::optional<BadInput> bad;
  try {
    options = parse_options(count, arguments);
  } catch (const BadInput& error) {
    bad = error;
  }
  // Bad input is told by one rank: so MPI begins first.
  int provided = 0;
  MPI_Init_thread(&count, &arguments, level_of(options), &provided);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 0;
  try {
    if (bad) {
      throw *bad;
    }
    if (!options.help.empty()) {
      if (rank == 0) {
        std::fputs(options.help.c_str(), stdout);
      }
    } else if (provided < level_of(options)) {
      throw BadInput("--variant " + options.variant +
                     " needs MPI_THREAD_MULTIPLE, which this MPI library does not give");
    } else {
      run(options, rank, ranks);
    }
  } catch (const BadInput& error) {
    if (rank == 0) {
      std::fprintf(stderr, "refinement: %s\n", error.what());
    }
    status = 2;
  } catch (const std::exception& error) {
    // The other ranks wait for what this one will not send. The starter ends them when one ends without MPI_Finalize, after it has passed on
    // what that one said; with MPI_Abort, MPICH's starter does not pass it on.
    std::fprintf(stderr, "refinement: rank %d: %s\n", rank, error.what());
    std::fflush(nullptr);
    ::_exit(1);
  }
  MPI_Finalize();
  return status;
}
