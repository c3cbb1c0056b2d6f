#include <mpi.h>

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "ranks.hpp"
#include "run_ranks.hpp"
#include "variant.hpp"

namespace {

// Only now, since the variant says how many threads will call MPI.
int run(int* argument_count, char*** arguments) {
  heat::RankOptions options;
  std::string refused;
  try {
    options = heat::parse_rank_options(std::vector<std::string>(*arguments + 1, *arguments + *argument_count));
  } catch (const heat::BadInput& error) {
    refused = error.what();
  }
  const bool has_tasks = options.variant != heat::Variant::messages_only;
  const heat::Ranks ranks(argument_count, arguments, has_tasks ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED);
  if (options.heat.help) {
    if (ranks.is_first()) {
      std::fputs(heat::rank_usage().c_str(), stdout);
    }
    return 0;
  }
  try {
    ranks.together([&] {
      if (!refused.empty()) {
        throw heat::BadInput(refused);
      }
    });
    heat::run_ranks(options, ranks);
    return 0;
  } catch (const heat::RefusedTogether&) {
    return 2;
  } catch (const std::exception& error) {
    // The other ranks wait for this one, in a call of MPI or for a row.
    std::fprintf(stderr, "heat: rank %d: %s\n", ranks.rank(), error.what());
    heat::Ranks::end_all(1);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  try {
    return run(&argument_count, &arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat: %s\n", error.what());
    return 1;
  }
}
