// Two ranks on two nodes, while the link between these is taken away for moments, or for good: nodes_test.py does that.
#include <cstdio>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace {

namespace rma = dovetail::rma;

void say(const rma::Group& group, const char* what) {
  std::printf("rank %d: %s\n", group.rank(), what);
  std::fflush(stdout);
}

// Blocks go to and fro; each side adds one to each number of what has come, and sends it back.
int flapping(const rma::Group& group) {
  constexpr std::size_t numbers = 4096;
  constexpr std::uint64_t rounds = 400;
  const rma::Segment segment = rma::Segment::allocate(group, numbers * sizeof(std::uint64_t));
  const int other = 1 - group.rank();
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  std::vector<std::uint64_t> block(numbers);
  std::iota(block.begin(), block.end(), 0);
  group.barrier();
  say(group, "begins");
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (round % 2 == static_cast<std::uint64_t>(group.rank())) {
      runtime.spawn([&] { rma::write_notify(block, {.rank = other, .segment = segment.id()}, {.id = 0}); }).get();
    } else {
      runtime.spawn([&] { rma::notify_wait(segment, 0, other); }).get();
      for (std::size_t i = 0; i < numbers; ++i) {
        block[i] = segment.as<std::uint64_t>()[i] + 1;
        if (block[i] != i + round + 1) {
          std::printf("rank %d: number %zu is %llu in round %llu\n", group.rank(), i,
                      static_cast<unsigned long long>(block[i]), static_cast<unsigned long long>(round));
          return 1;
        }
      }
    }
  }
  group.barrier();
  say(group, "right");
  return 0;
}

// A task waits for the other rank, and another one reads without end.
int silent(const rma::Group& group) {
  const rma::Segment segment = rma::Segment::allocate(group, sizeof(std::uint64_t));
  const int other = 1 - group.rank();
  dovetail::Runtime runtime(dovetail::Options{.workers = 1, .report_after = std::chrono::seconds(0)});
  auto waits = runtime.spawn({.label = "waits"}, [&] { rma::notify_wait(segment, 0, other); });
  auto reads = runtime.spawn({.label = "reads"}, [&] {
    for (std::uint64_t number = 0;;) {
      rma::read(std::as_writable_bytes(std::span(&number, 1)), {.rank = other, .segment = segment.id()});
    }
  });
  group.barrier();
  say(group, "begins");
  for (auto* const each : {&waits, &reads}) {
    try {
      each->get();
    } catch (const std::exception& error) {
      say(group, error.what());
    }
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "flapping") {
    return flapping(rma::Group::start());
  }
  return what == "silent" ? silent(rma::Group::start({.silence_timeout = std::chrono::seconds(2)})) : 2;
}
