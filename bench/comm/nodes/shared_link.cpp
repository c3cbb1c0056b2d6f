// Tasks of rank 0 write large blocks to rank 1, while a number goes to and fro between two other tasks. The tasks with blocks are on the device "link" of
// dovetail.toml. Rank 0 prints the milliseconds of half a round trip, in the mean and of the slowest, and the seconds until all blocks were sent.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace {

namespace rma = dovetail::rma;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t goes_on = 1;
constexpr std::uint32_t ends = 2;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void echo(const rma::Segment& segment) {
  while (rma::notify_wait(segment, 0) == goes_on) {
    rma::notify(0, segment.id(), {.id = 0});
  }
}

int play(int count, char** arguments) {
  const std::string constraint = count > 2 ? arguments[1] : "";
  const std::size_t blocks = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 0;
  const rma::Group group = rma::Group::start();
  if (blocks == 0 || group.size() != 2) {
    std::fprintf(stderr, "nodes_shared_link: two ranks; give a constraint, such as none, and the number of blocks\n");
    return 2;
  }
  constexpr std::size_t bytes = 1 << 20;
  const rma::Segment segment = rma::Segment::allocate(group, bytes, {.notifications = 1});
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  group.barrier();
  if (group.rank() == 1) {
    runtime.spawn([&] { echo(segment); }).get();
    return 0;
  }
  const std::vector<std::byte> block(bytes);
  std::atomic<bool> all_sent{false};
  std::vector<double> halves;
  auto to_and_fro = runtime.spawn([&] {
    while (!all_sent.load()) {
      const auto begin = Clock::now();
      rma::notify(1, segment.id(), {.id = 0, .value = goes_on});
      rma::notify_wait(segment, 0);
      halves.push_back(seconds_since(begin) / 2);
    }
    rma::notify(1, segment.id(), {.id = 0, .value = ends});
  });
  const auto begin = Clock::now();
  std::vector<dovetail::Future<void>> sent;
  for (std::size_t i = 0; i < blocks; ++i) {
    sent.push_back(runtime.spawn({.label = "block", .storage_bw = constraint, .device = "link"},
                                 [&] { rma::write(block, {.rank = 1, .segment = segment.id()}); }));
  }
  for (auto& each : sent) {
    each.get();
  }
  const double seconds = seconds_since(begin);
  all_sent.store(true);
  to_and_fro.get();
  const double all = std::accumulate(halves.begin(), halves.end(), 0.0);
  std::printf("%.3f %.3f %.3f\n", 1e3 * all / static_cast<double>(halves.size()), 1e3 * std::ranges::max(halves),
              seconds);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return play(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nodes_shared_link: %s\n", error.what());
    return 1;
  }
}
