// What the programs of this folder share. Each writes files as a known code does, and knows nothing of Dovetail:
//   PROGRAM FOLDER write|read FILES MEBIBYTES COMPUTE_SECONDS [HINT=VALUE ...]
// `write` computes, writes a file, and so on. Each rank then reads what another one has written. `read` does that alone, with any number of ranks. Rank 0
// prints the seconds for each file in which it does not compute, and those in all.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace programs {

struct Job {
  int rank = 0;
  int ranks = 1;
  long bytes = 0;  ///< Of a file, about.
  MPI_Info info = MPI_INFO_NULL;
};

/// Ends all ranks if it does not hold.
inline void check(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "%s has failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

inline void succeed(int code, const char* call) { check(code == MPI_SUCCESS, call); }

/// The value of element `index` of `variable` in file `number`. It does not depend on the rank that writes it.
inline double value_of(int number, int variable, std::uint64_t index) {
  return static_cast<double>((index * 2654435761U + static_cast<std::uint64_t>(variable * 40503 + number * 977)) %
                             1000003U);
}

struct Part {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// Of `all`, as even as can be.
inline Part part_of(std::uint64_t all, int rank, int ranks) {
  const auto r = static_cast<std::uint64_t>(rank);
  const auto n = static_cast<std::uint64_t>(ranks);
  const std::uint64_t first = all * r / n;
  return {first, all * (r + 1) / n - first};
}

inline void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

/// `write(job, path, number)` and `read(job, path, number)` are collective. `read` checks what it finds; the rank that reads is not the one that wrote.
template <class Write, class Read>
int run(int count, char** words, const Write& write, const Read& read) {
  MPI_Init(&count, &words);
  const std::string_view what = count < 6 ? "" : words[2];
  if (what != "write" && what != "read") {
    std::fprintf(stderr, "usage: PROGRAM FOLDER write|read FILES MEBIBYTES COMPUTE_SECONDS [HINT=VALUE ...]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Job job{.bytes = std::atol(words[4]) << 20};
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  MPI_Info_create(&job.info);
  for (int i = 6; i < count; ++i) {
    const std::string hint = words[i];
    const std::size_t equals = hint.find('=');
    check(equals != std::string::npos, "reading a hint");
    MPI_Info_set(job.info, hint.substr(0, equals).c_str(), hint.substr(equals + 1).c_str());
  }
  const int files = std::atoi(words[3]);
  const auto path = [&](int number) { return std::string(words[1]) + "/file" + std::to_string(number); };
  double waited = 0;
  const double begin = MPI_Wtime();
  for (int number = 0; what == "write" && number < files; ++number) {
    compute(std::atof(words[5]));
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = MPI_Wtime();
    write(job, path(number), number);
    MPI_Barrier(MPI_COMM_WORLD);
    waited += MPI_Wtime() - before;
  }
  const double all = MPI_Wtime() - begin;
  // A measurement computes, and is of writing alone.
  if (std::atof(words[5]) == 0) {
    job.rank = (job.rank + 1) % job.ranks;
    for (int number = 0; number < files; ++number) {
      read(job, path(number), number);
    }
    job.rank = (job.rank + job.ranks - 1) % job.ranks;
  }
  MPI_Info_free(&job.info);
  MPI_Finalize();
  if (job.rank == 0) {
    std::printf("%.6f %.6f\n", waited / files, all);
  }
  return 0;
}

}  // namespace programs
