#include <mpi.h>

#include <exception>
#include <memory>
#include <string>

#include "options.hpp"
#include "part.hpp"
#include "place.hpp"
#include "rank_program/program.hpp"
#include "report.hpp"
#include "variant.hpp"

namespace {

using namespace streaming;

int level_of(const Options& options) {
  return options.variant == "messages-only" || options.variant == "one-sided" ? MPI_THREAD_FUNNELED
                                                                              : MPI_THREAD_MULTIPLE;
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
  Result result{.ranks = ranks, .stages = place.stages, .workers = rank_program::workers_of(options, ranks)};
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
  const rank_program::Steps steps{.parse = [&] { options = parse_options(count, arguments); },
                                  .level = [&] { return level_of(options); },
                                  .run = [&](int rank, int ranks) { return run(options, rank, ranks); },
                                  .end_all = [] { MPI_Abort(MPI_COMM_WORLD, 1); }};
  return rank_program::main_of("streaming", options, steps, count, arguments);
}
