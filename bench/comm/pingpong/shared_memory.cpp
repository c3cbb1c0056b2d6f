// What memory that two ranks share can do at best: each writes a number, then a flag that the other one looks at all the time.
#include <array>
#include <atomic>

#include "pingpong/pingpong.hpp"

namespace {

// The number and the flag share a line of the cache, as little as can move.
struct Box {
  alignas(64) std::int64_t number;
  std::atomic<std::uint64_t> count;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("pingpong", "shared memory");
  bench::PingPong problem(line);
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_FUNNELED);
  Box* own = nullptr;
  MPI_Win window;
  MPI_Win_allocate_shared(sizeof(Box), 1, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(&own), &window);
  MPI_Aint bytes = 0;
  int unit = 0;
  Box* others = nullptr;
  MPI_Win_shared_query(window, ranks.other(), &bytes, &unit, static_cast<void*>(&others));
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  const int status = problem.measure(
      ranks, [](const auto& play) { play(); },
      [&](const std::int64_t& number) {
        others->number = number;
        others->count.store(++sent, std::memory_order_release);
      },
      [&](std::int64_t& number) {
        ++received;
        while (own->count.load(std::memory_order_acquire) != received) {
        }
        number = own->number;
      });
  MPI_Win_free(&window);
  return status;
}
