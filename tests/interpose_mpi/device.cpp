// A link as a device: what tasks with messages move is counted in bytes there, what they receive as much as what they send. Two ranks.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dovetail/admission.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/dovetail_mpi.h"
#include "dovetail/mpi.hpp"

namespace {

int rank = 0;

void check(bool holds, const std::string& what) {
  if (!holds) {
    std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace mpi = dovetail::mpi;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) {
    return 77;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string config = std::string(argv[1]) + "." + std::to_string(rank) + ".toml";
  std::ofstream(config) << "[[device]]\nname = \"link\"\nwrite = 1000\n";
  {
    // 8 bytes each, and more than 4096 bytes, below which a task is none of the device. The receivers have room for more than comes.
    constexpr int most = 10'000;
    constexpr int bound = 3000;
    constexpr int waited = 600;
    constexpr int unmodified = 5000;
    constexpr int in_c = 700;
    std::vector<double> data(4 * most, rank);
    const int other = 1 - rank;
    const auto part = [&](int number) { return data.data() + number * most; };
    dovetail::Runtime runtime(dovetail::Options{.workers = 1, .config = config});
    const auto spawn = [&](const auto& body) { runtime.spawn({.storage_bw = 100, .device = "link"}, body); };
    if (rank == 0) {
      spawn([&] { mpi::isend(part(0), bound, MPI_DOUBLE, other, 0, MPI_COMM_WORLD); });
      spawn([&] { mpi::send(part(1), waited, MPI_DOUBLE, other, 1, MPI_COMM_WORLD); });
      spawn([&] { MPI_Send(part(2), unmodified, MPI_DOUBLE, other, 2, MPI_COMM_WORLD); });
      spawn([&] { dovetail_mpi_isend(part(3), in_c, MPI_DOUBLE, other, 3, MPI_COMM_WORLD); });
    } else {
      spawn([&] { mpi::irecv(part(0), most, MPI_DOUBLE, other, 0, MPI_COMM_WORLD); });
      spawn([&] { mpi::recv(part(1), most, MPI_DOUBLE, other, 1, MPI_COMM_WORLD); });
      spawn([&] { MPI_Recv(part(2), most, MPI_DOUBLE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
      spawn(
          [&] { dovetail_mpi_irecv(part(3), most, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
    }
    // Of no device: counted nowhere.
    runtime.spawn([&] { mpi::isend(&rank, 1, MPI_INT, rank, 4, MPI_COMM_WORLD); });
    int own = -1;
    runtime.spawn([&] { mpi::irecv(&own, 1, MPI_INT, rank, 4, MPI_COMM_WORLD); });
    runtime.wait();
    check(rank == 0 || (data[0] == 0 && data[bound - 1] == 0 && data[bound] == 1), "another message");
    const auto device = nlohmann::json::parse(dovetail::admission_report()).at("devices").at(0);
    check(device.at("name") == "link" && device.at("tasks") == 4 &&
              device.at("bytes") == 8 * (bound + waited + unmodified + in_c),
          device.dump());
  }
  std::remove(config.c_str());
  MPI_Finalize();
  return 0;
}
