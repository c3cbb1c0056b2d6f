#include "ranks.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "options.hpp"

namespace heat {

Ranks::Ranks(int* count, char*** arguments, int level) {
  int provided = 0;
  MPI_Init_thread(count, arguments, level, &provided);
  if (provided < level) {
    MPI_Finalize();
    throw std::runtime_error("this MPI library does not let several threads call it");
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &count_);
}

Ranks::~Ranks() { MPI_Finalize(); }

void Ranks::together(const std::function<void()>& step) const {
  std::string problem;
  try {
    step();
  } catch (const BadInput& error) {
    problem = error.what();
  } catch (const std::invalid_argument& error) {
    problem = error.what();
  }
  const int mine = problem.empty() ? count_ : rank_;
  int first = count_;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == count_) {
    return;
  }
  if (first == rank_) {
    std::fprintf(stderr, "heat: %s\n", problem.c_str());
  }
  throw RefusedTogether{};
}

bool Ranks::all(bool mine) const {
  const int one = mine ? 1 : 0;
  int least = 0;
  MPI_Allreduce(&one, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return least == 1;
}

double Ranks::greatest(double mine) const {
  double found = 0;
  MPI_Allreduce(&mine, &found, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return found;
}

double Ranks::sum(double mine) const {
  double found = 0;
  MPI_Allreduce(&mine, &found, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return found;
}

void Ranks::barrier() const { MPI_Barrier(MPI_COMM_WORLD); }

std::uint64_t Ranks::of_first(std::uint64_t mine) const {
  MPI_Bcast(&mine, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return mine;
}

void Ranks::end_all(int status) {
  std::fflush(nullptr);
  // The starter ends the others when one ends without MPI_Finalize, after it has passed on what that one said. With MPI_Abort, MPICH's
  // starter ends all before it has read their last words.
  ::_exit(status);
}

}  // namespace heat
