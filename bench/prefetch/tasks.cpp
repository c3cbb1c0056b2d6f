// prefetch_tasks FILE BLOCKS BYTES MICROSECONDS ORDER WAY: tasks that each read a block of a file and compute, one after the other. Prints a checksum
// and the seconds that it took.
//
// ORDER: forward, or random. WAY: "tasks" as they are (the environment says whether they are read ahead of); "reader" beside a thread that
// reads the same blocks in the same order; "free" without the chain, so that all of them are ready at once.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dovetail/dovetail.hpp"

namespace {

using Clock = std::chrono::steady_clock;

void compute(std::chrono::microseconds duration) {
  const auto end = Clock::now() + duration;
  while (Clock::now() < end) {
  }
}

std::uint64_t sum_of(const std::vector<std::byte>& bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 512) {
    sum += static_cast<std::uint64_t>(bytes[at]) * (at / 512 + 1);
  }
  return sum;
}

void read_in_order(const char* path, const std::vector<std::size_t>& order, std::size_t bytes) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  std::vector<std::byte> block(bytes);
  for (const std::size_t number : order) {
    if (pread(file, block.data(), bytes, static_cast<off_t>(number * bytes)) < 0) {
      std::perror(path);
      std::exit(1);
    }
  }
  close(file);
}

}  // namespace

int main(int count, char** words) {
  if (count != 7) {
    std::fprintf(stderr, "usage: prefetch_tasks FILE BLOCKS BYTES MICROSECONDS forward|random tasks|reader|free\n");
    return 2;
  }
  const char* const path = words[1];
  const std::size_t blocks = std::strtoull(words[2], nullptr, 10);
  const std::size_t bytes = std::strtoull(words[3], nullptr, 10);
  const std::chrono::microseconds duration(std::strtoll(words[4], nullptr, 10));
  const std::string way = words[6];
  std::vector<std::size_t> order(blocks);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (std::string(words[5]) == "random") {
    std::shuffle(order.begin(), order.end(),
                 std::mt19937_64(1));  // NOLINT(cert-msc51-cpp): the same for all contenders
  }

  dovetail::Runtime runtime(dovetail::Options{.workers = 2});
  const dovetail::File file = dovetail::File::open(path, O_RDONLY);
  std::atomic<std::uint64_t> checksum = 0;
  int chain = 0;
  const auto begun = Clock::now();
  std::thread reader;
  if (way == "reader") {
    reader = std::thread([&] { read_in_order(path, order, bytes); });
  }
  const auto body = [&](std::size_t number) {
    std::vector<std::byte> block(bytes);
    file.pread(block, number * bytes);
    checksum += sum_of(block) * (number + 1);
    compute(duration);
  };
  for (const std::size_t number : order) {
    const dovetail::Access read = dovetail::in(file, number * bytes, bytes);
    if (way == "free") {
      runtime.spawn({.access = {read}}, [&body, number] { body(number); });
    } else {
      runtime.spawn({.access = {read, dovetail::inout(chain)}}, [&body, number] { body(number); });
    }
  }
  runtime.wait();
  const std::chrono::duration<double> seconds = Clock::now() - begun;
  if (reader.joinable()) {
    reader.join();
  }
  std::printf("%llu %.6f\n", static_cast<unsigned long long>(checksum.load()), seconds.count());
  return 0;
}
