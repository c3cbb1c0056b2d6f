// Nanoseconds of processor time per call of the recording interface: while recording is off, and per event while it is on.

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "harness/harness.hpp"
#include "trace/recorder.hpp"

namespace {

namespace trace = dovetail::trace;

/// Keeps the compiler from joining or dropping the calls of a loop.
inline void barrier() noexcept { asm volatile("" ::: "memory"); }

struct Case {
  const char* metric;
  int events_per_call;
  std::function<void(std::int64_t)> run;  ///< As many calls as asked for.
};

template <class Call>
Case make_case(const char* metric, int events_per_call, Call call) {
  return {metric, events_per_call, [call](std::int64_t calls) {
            for (std::int64_t i = 0; i < calls; ++i) {
              call(static_cast<std::uint64_t>(i));
              barrier();
            }
          }};
}

/// Processor time of the calling thread: other load on the machine matters less to it than to wall time.
std::int64_t thread_nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double nanoseconds_per_event(const Case& each, std::int64_t calls) {
  const std::int64_t begin = thread_nanoseconds();
  each.run(calls);
  return static_cast<double>(thread_nanoseconds() - begin) / static_cast<double>(calls * each.events_per_call);
}

/// Each thread records into its own ring, so the mean over threads should not grow with their number.
double nanoseconds_with_threads(const Case& each, std::int64_t calls, int threads) {
  std::vector<double> samples(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (double& sample : samples)
    running.emplace_back([&each, &sample, calls] {
      each.run(calls / 10);  // The ring's memory is there.
      sample = nanoseconds_per_event(each, calls);
    });
  double sum = 0;
  for (std::thread& thread : running) thread.join();
  for (const double sample : samples) sum += sample;
  return sum / threads;
}

}  // namespace

int main(int count, char** arguments) {
  bench::CommandLine command_line("trace_record", "dovetail");
  const std::int64_t& calls = command_line.size("calls", 2'000'000, "calls in one run");
  command_line.parse(count, arguments);
  bench::Report report(command_line);

  trace::Recorder::instance().set_capacity(1 << 17);
  const std::string labels[] = {"block 1", "block 2", "block 3", "block 4"};
  const std::vector<Case> cases = {
      make_case("event_ns", 1, [](std::uint64_t i) { trace::ready(i); }),
      make_case("slice_event_ns", 2,
                [&labels](std::uint64_t i) {
                  trace::started(i, labels[i & 3]);
                  trace::returned(i);
                }),
      make_case("io_event_ns", 2,
                [](std::uint64_t i) {
                  trace::io_submitted(i, trace::Transfer::write, "pwrite", "/data/results/field.checkpoint", 4096,
                                      i << 12);
                  trace::io_completed(i, 4096);
                }),
  };
  const Case empty = make_case("empty_loop_ns", 1, [](std::uint64_t) {});

  for (int round = 0; round < command_line.warmup() + command_line.repeat(); ++round) {
    const auto add = [&](const std::string& metric, double sample) {
      if (round >= command_line.warmup()) report.add(metric, sample);
    };
    trace::stop();
    add(empty.metric, nanoseconds_per_event(empty, calls));
    add(std::string("off_") + cases[0].metric, nanoseconds_per_event(cases[0], calls));
    for (const Case& each : cases) {
      trace::start();
      nanoseconds_per_event(each, calls / 10);
      add(each.metric, nanoseconds_per_event(each, calls));
    }
    trace::start();
    add("event_ns_all_workers", nanoseconds_with_threads(cases[0], calls, command_line.workers()));
    const trace::Recording recording = trace::Recorder::instance().copy();
    std::uint64_t seen = recording.lost;
    for (const trace::ThreadEvents& thread : recording.threads) seen += thread.events.size();
    const std::int64_t made = (calls + calls / 10) * command_line.workers();
    if (seen != static_cast<std::uint64_t>(made))
      report.wrong("recorded " + std::to_string(seen) + " events instead of " + std::to_string(made));
  }
  trace::stop();
  return report.finish();
}
