// The problem: requests that do nothing, `depth` of them under way at any time. The time is the cost of a request.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "harness/harness.hpp"

namespace bench {

struct NopProblem {
  const std::int64_t& requests;
  const std::int64_t& depth;
};

inline NopProblem declare_nop(CommandLine& line) {
  return {line.size("requests", 2'000'000, "requests of all together"),
          line.size("depth", 64, "requests under way at any time")};
}

/// The bare loop: fill the queue, hand it over, take what has ended, fill again.
class BareLoop {
 public:
  BareLoop() {
    if (const int error = io_uring_queue_init(256, &ring_, 0); error < 0) {
      std::fprintf(stderr, "io_uring is not to be had: error %d\n", -error);
      std::exit(2);
    }
    io_uring_register_ring_fd(&ring_);
  }
  ~BareLoop() { io_uring_queue_exit(&ring_); }
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  /// Returns how many requests have ended.
  std::int64_t run(const NopProblem& nop) {
    std::int64_t started = 0;
    std::int64_t ended = 0;
    while (ended < nop.requests) {
      while (started - ended < nop.depth && started < nop.requests) {
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        io_uring_prep_nop(entry);
        io_uring_sqe_set_data64(entry, static_cast<std::uint64_t>(++started));
      }
      io_uring_submit_and_wait(&ring_, 1);
      unsigned head = 0;
      unsigned taken = 0;
      io_uring_cqe* completion = nullptr;
      io_uring_for_each_cqe(&ring_, head, completion) { ++taken; }
      io_uring_cq_advance(&ring_, taken);
      ended += taken;
    }
    return ended;
  }

 private:
  io_uring ring_{};
};

}  // namespace bench
