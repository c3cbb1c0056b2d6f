#include "program.hpp"

#include <mpi.h>

#include <cstdio>
#include <exception>
#include <optional>

namespace rank_program {

int main_of(const std::string& name, const Options& options, const Steps& steps, int count, char** arguments) {
  std::optional<BadInput> bad;
  try {
    steps.parse();
  } catch (const BadInput& error) {
    bad = error;
  }
  // Bad input is told by one rank: so MPI begins first.
  const int level = steps.level();
  int provided = 0;
  MPI_Init_thread(&count, &arguments, level, &provided);
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
    } else if (provided < level) {
      throw BadInput("--variant " + options.variant +
                     " needs MPI_THREAD_MULTIPLE, which this MPI library does not give");
    } else {
      status = steps.run(rank, ranks);
    }
  } catch (const BadInput& error) {
    if (rank == 0) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    }
    status = 2;
  } catch (const std::exception& error) {
    // The other ranks wait for what this one will not send.
    std::fprintf(stderr, "%s: rank %d: %s\n", name.c_str(), rank, error.what());
    steps.end_all();
  }
  MPI_Finalize();
  return status;
}

}  // namespace rank_program
