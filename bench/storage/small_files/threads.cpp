// A pool of threads that take the files in turn.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "small_files/small_files.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("small_files", "threads");
  bench::SmallFiles problem(line);
  const std::int64_t& count = line.size("threads", 2, "threads of the pool");
  line.parse(argc, argv);
  problem.make();
  const auto read_one = [&](std::int64_t number) {
    std::vector<std::byte> data(problem.bytes());
    const int descriptor = open(problem.path(number).c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t moved = pread(descriptor, data.data(), data.size(), 0);
    close(descriptor);
    data.resize(static_cast<std::size_t>(std::max<ssize_t>(moved, 0)));
    problem.has_read(number, data);
  };
  const auto read_all = [&] {
    std::atomic<std::int64_t> next{0};
    std::vector<std::jthread> pool;
    for (std::int64_t thread = 0; thread < count; ++thread) {
      pool.emplace_back([&] {
        for (std::int64_t number = next++; number < problem.files(); number = next++) read_one(number);
      });
    }
  };
  return bench::measure_and_finish(line, {.operations = problem.files(),
                                          .prepare = [&] { problem.prepare(); },
                                          .run = read_all,
                                          .check = [&] { return problem.what_is_wrong(); }});
}
