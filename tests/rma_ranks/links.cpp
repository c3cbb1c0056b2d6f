// Two ranks on two nodes: nodes_test.py takes the link between these away for moments, for long, or for good; and the link as a device.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dovetail/admission.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace {

namespace rma = dovetail::rma;

void say(const rma::Group& group, const char* what) {
  std::printf("rank %d: %s\n", group.rank(), what);
  std::fflush(stdout);
}

// Blocks go to and fro; each side adds one to each number of what has come, and sends it back. The rank that sends a block says in its notification
// whether it `is_last`, of a round. @returns The exit status.
template <class IsLast>
int bounce(const rma::Group& group, const IsLast& is_last) {
  constexpr std::size_t numbers = 4096;
  const rma::Segment segment = rma::Segment::allocate(group, numbers * sizeof(std::uint64_t));
  const int other = 1 - group.rank();
  dovetail::Runtime runtime(dovetail::Options{.workers = 1, .report_after = std::chrono::seconds(0)});
  std::vector<std::uint64_t> block(numbers);
  std::iota(block.begin(), block.end(), 0);
  group.barrier();
  say(group, "begins");
  std::uint32_t ends = 0;
  for (std::uint64_t round = 0; ends == 0; ++round) {
    if (round % 2 == static_cast<std::uint64_t>(group.rank())) {
      ends = is_last(round) ? 1 : 0;
      runtime
          .spawn(
              {.label = "writes"},
              [&] { rma::write_notify(block, {.rank = other, .segment = segment.id()}, {.id = 0, .value = 1 + ends}); })
          .get();
    } else {
      runtime.spawn({.label = "waits"}, [&] { ends = rma::notify_wait(segment, 0, other) - 1; }).get();
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

int flapping(const rma::Group& group) {
  return bounce(group, [](std::uint64_t round) { return round == 399; });
}

// Until the link has been away and is there again, which a file says; or until the other rank is given up.
int outage(const rma::Group& group) {
  const std::string is_there_again = std::getenv("DOVETAIL_TEST_FILE");
  try {
    return bounce(group, [&](std::uint64_t) { return access(is_there_again.c_str(), F_OK) == 0; });
  } catch (const std::exception& error) {
    say(group, error.what());
    return 0;
  }
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

// The link is a device of dovetail.toml, with 100 MB/s: tasks that take 40 of them are on it two at a time, and what they move is counted.
int limited(const rma::Group& group) {
  constexpr std::size_t tasks = 12;
  constexpr std::size_t block = 1 << 20;
  constexpr std::size_t small = 4096;
  constexpr std::size_t times = 100;
  const rma::Segment segment = rma::Segment::allocate(group, tasks * block);
  const int other = 1 - group.rank();
  dovetail::Runtime runtime(dovetail::Options{.workers = 2, .config = std::getenv("DOVETAIL_TEST_CONFIG")});
  group.barrier();
  say(group, "begins");
  if (group.rank() == 0) {
    std::vector<std::vector<std::byte>> blocks;
    for (std::size_t i = 0; i < tasks; ++i) {
      blocks.emplace_back(block, std::byte(i + 1));
    }
    std::vector<std::byte> read(block);
    const auto to = [&](std::size_t i) {
      return rma::Remote{.rank = other, .segment = segment.id(), .offset = i * block};
    };
    for (std::size_t i = 0; i < tasks; ++i) {
      runtime.spawn({.label = "send", .storage_bw = 40, .device = "link"},
                    [&, i] { rma::write_notify(blocks[i], to(i), {.id = static_cast<std::uint32_t>(i)}); });
    }
    runtime.wait();
    runtime.spawn({.label = "small", .storage_bw = 40, .device = "link"}, [&] {
      for (std::size_t i = 0; i < times; ++i) {
        rma::write(std::span(blocks[0]).first(small), to(0));
      }
    });
    runtime.spawn({.label = "read", .storage_bw = "adaptive", .device = "link"}, [&] { rma::read(read, to(1)); });
    runtime.wait();
    const auto report = nlohmann::json::parse(dovetail::admission_report()).at("devices").at(0);
    if (report.at("name") != "link" || report.at("tasks") != tasks + 2 || report.at("most_running") != 2 ||
        report.at("bytes") != (tasks + 1) * block + times * small || read != blocks[1]) {
      std::printf("rank 0: %s\n", report.dump().c_str());
      return 1;
    }
  } else {
    runtime.spawn([&] { rma::notify_awaitall(segment, 0, tasks); }).get();
    for (std::size_t i = 0; i < tasks * block; ++i) {
      if (segment.data()[i] != std::byte(i / block + 1)) {
        std::printf("rank 1: byte %zu is wrong\n", i);
        return 1;
      }
    }
  }
  group.barrier();
  say(group, "right");
  return 0;
}

void await_stop(pid_t process) {
  for (std::string state; state != "T";) {
    std::string number;
    std::string name;
    std::ifstream("/proc/" + std::to_string(process) + "/stat") >> number >> name >> state;
    std::this_thread::yield();
  }
}

// Rank 1 stops, while its kernel answers. Rank 0 ends its group, and what is under way to rank 1 fails then.
int stopped() {
  constexpr std::size_t bytes = 64 << 20;
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  std::optional<rma::Group> group = rma::Group::start({.silence_timeout = std::chrono::seconds(1)});
  std::optional<rma::Segment> segment = rma::Segment::allocate(*group, bytes);
  const pid_t own = getpid();
  if (group->rank() == 1) {
    say(*group, "begins");
    rma::write_notify(std::span(&own, 1), {.rank = 0, .segment = segment->id()}, {.id = 0});
    rma::notify_wait(*segment, 0, 0);
    raise(SIGSTOP);
    return 0;
  }
  say(*group, "begins");
  rma::notify_wait(*segment, 0, 1);
  const pid_t other = segment->as<pid_t>().front();
  rma::notify(1, segment->id(), {.id = 0});
  await_stop(other);
  const std::vector<std::byte> block(bytes);
  std::atomic<bool> is_under_way{false};
  auto written = runtime.spawn({.label = "large"}, [&, id = segment->id()] {
    rma::write(block, {.rank = 1, .segment = id});
    is_under_way.store(true);
    is_under_way.notify_one();
  });
  is_under_way.wait(false);
  segment.reset();
  group.reset();
  try {
    written.get();
  } catch (const std::exception& error) {
    std::printf("rank 0: %s\n", error.what());
  }
  kill(other, SIGCONT);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view what = count > 1 ? arguments[1] : "";
  if (what == "flapping") {
    return flapping(rma::Group::start());
  }
  if (what == "outage" && count == 3) {
    return outage(rma::Group::start({.silence_timeout = std::chrono::seconds(std::atoi(arguments[2]))}));
  }
  if (what == "limited") {
    return limited(rma::Group::start());
  }
  if (what == "stopped") {
    return stopped();
  }
  return what == "silent" ? silent(rma::Group::start({.silence_timeout = std::chrono::seconds(2)})) : 2;
}
