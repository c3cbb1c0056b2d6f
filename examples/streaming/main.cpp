#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <thread>

#include "options.hpp"
#include "part.hpp"
#include "place.hpp"
#include "report.hpp"
#include "variant.hpp"

namespace {

using namespace streaming;

int level_of(const Options& options) {
  return options.variant == "messages-only" || options.variant == "one-sided" ? MPI_THREAD_FUNNELED
                                                                              : MPI_THREAD_MULTIPLE;
}

/// Those of this rank.
int workers_of(const Options& options, int ranks) {
  if (options.variant == "messages-only") {
    return 1;
  }
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return options.workers > 0 ? options.workers : std::max(1, cores / ranks);
}

std::unique_ptr<Variant> make_variant(const Options& options, Part& part, int workers) {
  if (options.variant == "multiple") {
    return make_multiple(part, workers, options.poll_microseconds);
  }
  if (options.variant == "two-sided") {
    return make_two_sided(part, workers);
  }
  if (options.variant == "one-sided") {
    return make_one_sided(part, workers);
  }
  return make_messages_only(part, workers);
}

/// What is wrong on any rank that has a word to say: that of the lowest, on rank 0.
std::string gather_wrong(std::string wrong, int rank, int ranks) {
  constexpr int longest = 512;
  wrong.resize(longest);
  std::string all(static_cast<std::size_t>(rank == 0 ? ranks : 0) * longest, '\0');
  MPI_Gather(wrong.data(), longest, MPI_CHAR, all.data(), longest, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (std::size_t at = 0; at < all.size(); at += longest) {
    if (all[at] != '\0') {
      return {all.c_str() + at};
    }
  }
  return {};
}

/// The exit status, which is that of all ranks. @throws BadInput on all ranks alike, or what a task has thrown.
int run(const Options& options, int rank, int ranks) {
  const Place place = place_of(options, rank, ranks);
  prepare_output(options);
  Part part(options, place);
  Result result{.ranks = ranks, .stages = place.stages, .workers = workers_of(options, ranks)};
  {
    const std::unique_ptr<Variant> variant = make_variant(options, part, result.workers);
    for (int turn = -options.warmup; turn < options.repeat; ++turn) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      variant->run();
      MPI_Barrier(MPI_COMM_WORLD);
      if (turn >= 0) {
        result.seconds.push_back(MPI_Wtime() - begin);
      }
    }
  }
  std::string wrong;
  if (place.is_last()) {
    wrong = options.verify ? part.verify() : "";
    if (!options.output.empty()) {
      try {
        part.write_output();
      } catch (const std::exception& error) {
        wrong = error.what();
      }
    }
  }
  result.wrong = gather_wrong(wrong, rank, ranks);
  const std::uint64_t own = part.checksum_of_all();
  MPI_Reduce(&own, &result.checksum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  int status = result.wrong.empty() ? 0 : 1;
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    print(options, result);
  }
  return status;
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
      status = run(options, rank, ranks);
    }
  } catch (const BadInput& error) {
    if (rank == 0) {
      std::fprintf(stderr, "streaming: %s\n", error.what());
    }
    status = 2;
  } catch (const std::exception& error) {
    // The other ranks wait for what this one will not send.
    std::fprintf(stderr, "streaming: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
