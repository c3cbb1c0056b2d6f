// The bare loop: fill the queue, hand it over, take what has ended, fill again.
#include "nop/nop.hpp"

#include <liburing.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  bench::CommandLine line("nop", "liburing");
  const bench::NopProblem nop = bench::declare_nop(line);
  line.parse(argc, argv);
  io_uring ring{};
  if (const int error = io_uring_queue_init(256, &ring, 0); error < 0) {
    std::fprintf(stderr, "io_uring is not to be had: error %d\n", -error);
    return 2;
  }
  io_uring_register_ring_fd(&ring);
  std::int64_t ended = 0;
  const bench::Problem problem{
      .operations = nop.requests,
      .prepare = [&] { ended = 0; },
      .run =
          [&] {
            std::int64_t started = 0;
            while (ended < nop.requests) {
              while (started - ended < nop.depth && started < nop.requests) {
                io_uring_sqe* entry = io_uring_get_sqe(&ring);
                io_uring_prep_nop(entry);
                io_uring_sqe_set_data64(entry, static_cast<std::uint64_t>(++started));
              }
              io_uring_submit_and_wait(&ring, 1);
              unsigned head = 0;
              unsigned taken = 0;
              io_uring_cqe* completion = nullptr;
              io_uring_for_each_cqe(&ring, head, completion) { ++taken; }
              io_uring_cq_advance(&ring, taken);
              ended += taken;
            }
          },
      .check = [&] { return ended == nop.requests ? std::string() : "requests were lost"; },
  };
  const int status = bench::measure_and_finish(line, problem);
  io_uring_queue_exit(&ring);
  return status;
}
