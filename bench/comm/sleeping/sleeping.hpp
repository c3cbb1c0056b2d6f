// A rank waits for a message that comes after a long time: how much processor time the wait takes, and how late its end is noticed.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "ranks.hpp"

namespace bench {

class Sleeping {
 public:
  explicit Sleeping(CommandLine& line)
      : line_(line), milliseconds_(line.size("milliseconds", 1000, "until the message is sent")) {}

  /// `receive` returns when the message of one number has come. Returns the exit status.
  template <class Receive>
  int measure(const Ranks& ranks, Receive&& receive) {
    Report report(line_);
    for (int i = 0; i < line_.warmup() + line_.repeat(); ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (!ranks.is_first()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_));
        const std::int64_t now = wall_nanoseconds();
        MPI_Send(&now, 1, MPI_INT64_T, ranks.other(), 0, MPI_COMM_WORLD);
        continue;
      }
      const std::int64_t begin = wall_nanoseconds();
      const std::int64_t cpu = cpu_nanoseconds();
      std::int64_t sent = 0;
      receive(sent);
      const std::int64_t end = wall_nanoseconds();
      if (i >= line_.warmup()) {
        report.add("cpu_percent",
                   100 * static_cast<double>(cpu_nanoseconds() - cpu) / static_cast<double>(end - begin));
        report.add("late_us", static_cast<double>(end - sent) / 1000);  // the clock is the machine's
      }
    }
    return finish(ranks, report);
  }

 private:
  const CommandLine& line_;
  const std::int64_t& milliseconds_;
};

}  // namespace bench
