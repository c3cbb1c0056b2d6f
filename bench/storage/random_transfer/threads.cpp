// Blocking calls on at most 16 threads, each of which has one transfer under way.
#include "random_transfer/random_transfer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

int main(int argc, char** argv) {
  bench::CommandLine line("random_transfer", "threads");
  bench::RandomTransfer problem(line);
  line.parse(argc, argv);
  problem.prepare();
  const int descriptor = open(problem.path().c_str(), O_RDWR | O_DIRECT);
  if (descriptor < 0) {
    std::fprintf(stderr, "%s: no direct I/O here\n", problem.path().c_str());
    return 2;
  }
  const int status = problem.measure([&] {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min<std::size_t>(problem.depth(), 16); ++i) {
      threads.emplace_back([&, &chain = problem.chain(i)] {
        while (problem.next(chain)) {
          const auto offset = static_cast<off_t>(chain.offset);
          problem.ended(chain, problem.writes() ? pwrite(descriptor, chain.buffer, problem.block(), offset)
                                                : pread(descriptor, chain.buffer, problem.block(), offset));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  close(descriptor);
  return status;
}
