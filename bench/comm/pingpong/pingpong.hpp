// A message of 8 bytes goes to and fro between two ranks.
#pragma once

#include <cstdint>
#include <string>

#include "ranks.hpp"

namespace bench {

class PingPong {
 public:
  explicit PingPong(CommandLine& line)
      : line_(line), rounds_(line.size("rounds", 50'000, "messages each way in a measurement")) {}

  /// After `parse`. `send` and `receive` are calls that return when their message of one number has gone or come; `run` makes the
  /// loop that it gets run. An operation is a message. Returns the exit status.
  template <class Run, class Send, class Receive>
  int measure(const Ranks& ranks, const Run& run, const Send& send, const Receive& receive) {
    std::int64_t value = 0;
    const auto play = [&] {
      for (std::int64_t i = 0; i < rounds_; ++i) {
        if (ranks.is_first()) {
          ++value;
          send(value);
          receive(value);
        } else {
          receive(value);
          ++value;
          send(value);
        }
      }
    };
    Report report(line_);
    measure_ranks(line_, report,
                  {.operations = 2 * rounds_,
                   .prepare = [&] { value = 0; },
                   .run = [&] { run(play); },
                   .check = [&] { return value == 2 * rounds_ ? std::string{} : std::string{"the last value"}; }});
    return finish(ranks, report);
  }

 private:
  const CommandLine& line_;
  const std::int64_t& rounds_;
};

}  // namespace bench
