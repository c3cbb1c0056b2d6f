// The problem: a call of MPI that does next to nothing, made again and again, outside of tasks or in one. A sample is a batch of calls to MPI's own function
// (PMPI) and a batch to the one that the program calls. Both take turns in one process, so that what else the machine does slows both. An
// operation is a call. Started once with libdovetail-mpi.so loaded before, and once without.
#include <mpi.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "ranks.hpp"

namespace {

struct Functions {
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Waitall) waitall;
  decltype(&MPI_Send) send;
  decltype(&MPI_Irecv) irecv;
};

double batch(const std::string& call, const Functions& functions, std::int64_t count) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int value = 0;
  const std::int64_t begin = bench::wall_nanoseconds();
  if (call == "wait") {
    for (std::int64_t i = 0; i < count; ++i) {
      functions.wait(&request, MPI_STATUS_IGNORE);
    }
  } else if (call == "waitall") {
    for (std::int64_t i = 0; i < count; ++i) {
      functions.waitall(0, &request, MPI_STATUSES_IGNORE);
    }
  } else if (call == "irecv") {
    for (std::int64_t i = 0; i < count; ++i) {
      functions.irecv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
      PMPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      functions.send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    }
  }
  return static_cast<double>(bench::wall_nanoseconds() - begin) / static_cast<double>(count);
}

double middle(std::vector<double>& values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("interposed_mpi", "call");
  const std::string& call =
      line.choice("call", {"wait", "waitall", "send", "irecv"},
                  "MPI_Wait for MPI_REQUEST_NULL, MPI_Waitall for none, MPI_Send to MPI_PROC_NULL, MPI_Irecv from it "
                  "with PMPI_Wait");
  const std::string& with = line.choice("runtime", {"no", "yes", "task"},
                                        "whether a runtime has started, and whether one of its tasks makes the calls");
  const std::int64_t& pairs = line.size("pairs", 10'000, "of batches");
  const std::int64_t& calls = line.size("batch", 1'000, "calls in each");
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_MULTIPLE);
  std::optional<dovetail::Runtime> runtime;
  if (with != "no") {
    runtime.emplace(dovetail::Options{.workers = 1});
  }
  const Functions own{PMPI_Wait, PMPI_Waitall, PMPI_Send, PMPI_Irecv};
  const Functions called{MPI_Wait, MPI_Waitall, MPI_Send, MPI_Irecv};
  bench::Report report(line);
  const auto measure = [&](int round) {
    std::vector<double> plain;
    std::vector<double> differences;
    for (std::int64_t i = 0; i < pairs; ++i) {
      const bool own_first = i % 2 == 0;
      const double one = batch(call, own_first ? own : called, calls);
      const double other = batch(call, own_first ? called : own, calls);
      plain.push_back(own_first ? one : other);
      differences.push_back(own_first ? other - one : one - other);
    }
    if (round >= line.warmup()) {
      report.add("mpi_ns", middle(plain));
      report.add("extra_ns", middle(differences));
    }
  };
  for (int round = 0; round < line.warmup() + line.repeat(); ++round) {
    if (with == "task") {
      runtime->spawn([&] { measure(round); }).get();
    } else {
      measure(round);
    }
  }
  return report.finish();
}
