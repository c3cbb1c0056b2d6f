// The bare loop on one ring and one thread.
#include "random_transfer/random_transfer.hpp"

#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include <cstdio>

int main(int argc, char** argv) {
  bench::CommandLine line("random_transfer", "liburing");
  bench::RandomTransfer problem(line);
  line.parse(argc, argv);
  problem.prepare();
  const int descriptor = open(problem.path().c_str(), O_RDWR | O_DIRECT);
  io_uring ring{};
  if (descriptor < 0 || io_uring_queue_init(256, &ring, 0) < 0) {
    std::fprintf(stderr, "%s: no direct I/O, or no io_uring, here\n", problem.path().c_str());
    return 2;
  }
  io_uring_register_ring_fd(&ring);
  const auto prepare = [&](bench::RandomTransfer::Chain& chain) {
    if (!problem.next(chain)) return false;
    io_uring_sqe* entry = io_uring_get_sqe(&ring);
    const auto block = static_cast<unsigned>(problem.block());
    if (problem.writes()) {
      io_uring_prep_write(entry, descriptor, chain.buffer, block, chain.offset);
    } else {
      io_uring_prep_read(entry, descriptor, chain.buffer, block, chain.offset);
    }
    io_uring_sqe_set_data(entry, &chain);
    return true;
  };
  const int status = problem.measure([&] {
    std::size_t under_way = 0;
    for (std::size_t i = 0; i < problem.depth(); ++i) under_way += prepare(problem.chain(i)) ? 1 : 0;
    while (under_way > 0) {
      io_uring_submit_and_wait(&ring, 1);
      unsigned head = 0;
      unsigned taken = 0;
      io_uring_cqe* completion = nullptr;
      io_uring_for_each_cqe(&ring, head, completion) {
        auto& chain = *static_cast<bench::RandomTransfer::Chain*>(io_uring_cqe_get_data(completion));
        problem.ended(chain, completion->res);
        if (!prepare(chain)) --under_way;
        ++taken;
      }
      io_uring_cq_advance(&ring, taken);
    }
  });
  io_uring_queue_exit(&ring);
  close(descriptor);
  return status;
}
