// Tasks compute while others wait for messages of another rank: what the waiting ones cost them, and how soon the message of the one in the middle
// is found. The same loop of tasks takes turns with and without the waiting ones, in one process.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "dovetail/mpi.hpp"
#include "ranks.hpp"
#include "tasking/common.hpp"

namespace {

// To the rank that sends: these messages are wanted. None: that was all.
struct Wanted {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
constexpr int order_tag = 30'000;
constexpr int numbers_in_order = 2;

// The other rank: sleeps until messages are wanted. Each carries the time at which it was sent.
void send_what_is_wanted(int other) {
  while (true) {
    Wanted wanted;
    dovetail::mpi::recv(&wanted, numbers_in_order, MPI_INT64_T, other, order_tag, MPI_COMM_WORLD);
    if (wanted.count == 0) {
      return;
    }
    for (std::int64_t i = 0; i < wanted.count; ++i) {
      const std::int64_t now = bench::wall_nanoseconds();
      dovetail::mpi::send(&now, 1, MPI_INT64_T, other, static_cast<int>(wanted.first + i), MPI_COMM_WORLD);
    }
  }
}

void want(std::int64_t first, std::int64_t count, int other) {
  const Wanted wanted{first, count};
  MPI_Send(&wanted, numbers_in_order, MPI_INT64_T, other, order_tag, MPI_COMM_WORLD);
}

// Computes for about so long, whatever else the machine does.
class Body {
 public:
  explicit Body(std::int64_t nanoseconds) {
    constexpr std::int64_t trial = 1 << 20;
    std::int64_t fastest = 0;
    for (int i = 0; i < 10; ++i) {
      const std::int64_t begin = bench::wall_nanoseconds();
      turn(trial);
      const std::int64_t took = bench::wall_nanoseconds() - begin;
      fastest = fastest == 0 || took < fastest ? took : fastest;
    }
    turns_ = std::max<std::int64_t>(1, nanoseconds * trial / fastest);
  }
  void operator()() const noexcept { turn(turns_); }

 private:
  static void turn(std::int64_t turns) noexcept {
    std::uint64_t value = 1;
    for (std::int64_t i = 0; i < turns; ++i) {
      value = value * 6364136223846793005U + 1;
      asm volatile("" : "+r"(value));  // else the compiler leaves it out
    }
  }
  std::int64_t turns_ = 0;
};

std::int64_t threads_now() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key; status.ignore(4096, '\n')) {
    std::int64_t count = 0;
    if (key == "Threads:" && status >> count) {
      return count;
    }
  }
  return 0;
}

// Tasks that wait for a message each.
class WaitingTasks {
 public:
  WaitingTasks(dovetail::Runtime& runtime, const std::string& way, std::int64_t count, int other)
      : other_(other), sent_(static_cast<std::size_t>(count)), noticed_(sent_.size()) {
    all_ = runtime.spawn([this, way, count] {
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (way == "paused") {
          dovetail::spawn([this, at] {
            begun_.fetch_add(1, std::memory_order_relaxed);
            dovetail::mpi::recv(&sent_[at], 1, MPI_INT64_T, other_, static_cast<int>(at), MPI_COMM_WORLD);
            note(at);
          });
        } else {
          dovetail::spawn({.access = {dovetail::out(sent_[at])}}, [this, at] {
            dovetail::mpi::irecv(&sent_[at], 1, MPI_INT64_T, other_, static_cast<int>(at), MPI_COMM_WORLD);
            begun_.fetch_add(1, std::memory_order_relaxed);
          });
          dovetail::spawn({.access = {dovetail::in(sent_[at])}}, [this, at] { note(at); });
        }
      }
    });
    while (begun_.load(std::memory_order_relaxed) < count) {
      std::this_thread::yield();
    }
  }
  // How long after it was sent the message of the one in the middle was noticed, in nanoseconds.
  std::int64_t end_middle() {
    const std::size_t middle = sent_.size() / 2;
    want(static_cast<std::int64_t>(middle), 1, other_);
    while (noticed_[middle].load(std::memory_order_acquire) == 0) {
      usleep(200);  // the workers are to have the cores
    }
    return noticed_[middle].load() - sent_[middle];
  }
  void end_others() {
    const auto count = static_cast<std::int64_t>(sent_.size());
    const std::int64_t middle = count / 2;
    if (middle > 0) {
      want(0, middle, other_);
    }
    if (middle + 1 < count) {
      want(middle + 1, count - middle - 1, other_);
    }
    all_.get();
  }

 private:
  void note(std::size_t at) noexcept { noticed_[at].store(bench::wall_nanoseconds(), std::memory_order_release); }
  const int other_;
  std::vector<std::int64_t> sent_;
  std::vector<std::atomic<std::int64_t>> noticed_;
  std::atomic<std::int64_t> begun_{0};
  dovetail::Future<void> all_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("waiting", "dovetail");
  const std::int64_t& waiting = line.size("waiting", 10'000, "tasks that wait for messages");
  const std::string& way = line.choice("way", {"bound", "paused"}, "how they wait");
  const std::int64_t& length = line.size("body", 1'000, "nanoseconds of the body of a task that computes");
  const std::int64_t& whole = line.size("loop", 50, "milliseconds that a loop of such bodies takes");
  const std::int64_t& pairs = line.size("pairs", 10, "of loops, without and with tasks that wait, in a measurement");
  const std::string& pace = line.choice("pace", {"auto", "0"}, "DOVETAIL_MPI_POLL");
  line.parse(argc, argv);
  if (pace != "auto") {
    setenv("DOVETAIL_MPI_POLL", pace.c_str(), 1);
  }
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_MULTIPLE);
  bench::Report report(line);
  dovetail::Runtime runtime(bench::runtime_options(line));
  if (!ranks.is_first()) {
    runtime.spawn([&] { send_what_is_wanted(ranks.other()); }).get();
    return bench::finish(ranks, report);
  }

  const Body body(length);
  const std::int64_t bodies = std::max<std::int64_t>(1, whole * 1'000'000 / length) * line.workers();
  // Nanoseconds of a body.
  const auto loop = [&] {
    const std::int64_t begin = bench::wall_nanoseconds();
    runtime
        .spawn([&] {
          for (std::int64_t i = 0; i < bodies; ++i) {
            dovetail::spawn(body);
          }
        })
        .get();
    return static_cast<double>(bench::wall_nanoseconds() - begin) / static_cast<double>(bodies);
  };
  for (int i = 0; i < line.warmup() + line.repeat(); ++i) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const double alone = loop();
      const std::int64_t threads = threads_now();
      WaitingTasks tasks(runtime, way, waiting, ranks.other());
      const double beside = loop();
      if (threads_now() > threads) {
        report.wrong("there are more threads while tasks wait");
      }
      const std::int64_t found_after = tasks.end_middle();
      tasks.end_others();
      if (i >= line.warmup()) {
        report.add("ns", beside);
        report.add("alone_ns", alone);
        report.add("lost_percent", 100 * (beside / alone - 1));
        report.add("middle_us", static_cast<double>(found_after) / 1000);
      }
    }
  }
  want(0, 0, ranks.other());
  return bench::finish(ranks, report);
}
