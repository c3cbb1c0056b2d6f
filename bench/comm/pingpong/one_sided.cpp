// A task of each rank writes into the other's memory and notifies it; it pauses while it waits.
#include <span>

#include "dovetail/rma.hpp"
#include "pingpong/pingpong.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("pingpong", "one-sided");
  bench::PingPong problem(line);
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_FUNNELED);
  namespace rma = dovetail::rma;
  const rma::Group group = rma::Group::start();
  const rma::Segment segment = rma::Segment::allocate(group, sizeof(std::int64_t), {.notifications = 1});
  dovetail::Runtime runtime(bench::runtime_options(line));
  return problem.measure(
      ranks, [&](const auto& play) { runtime.spawn(play).get(); },
      [&](const std::int64_t& sent) {
        rma::write_notify(std::span(&sent, 1), {.rank = ranks.other(), .segment = segment.id()}, {.id = 0});
      },
      [&](std::int64_t& received) {
        rma::notify_wait(segment, 0);
        received = segment.as<std::int64_t>()[0];
      });
}
