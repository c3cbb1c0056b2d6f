// Two ranks exchange small messages, with many under way: each sends as many as it receives.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "ranks.hpp"

namespace bench {

/// A channel is a tag: a message each way in a round, and the next round when both have ended. Each worker, or thread, has a window of channels.
class Rate {
 public:
  explicit Rate(CommandLine& line)
      : line_(line),
        rounds_(line.size("rounds", 3'000, "messages each way on a channel in a measurement")),
        window_(line.size("window", 64, "channels of a worker")) {}

  [[nodiscard]] std::int64_t rounds() const noexcept { return rounds_; }
  [[nodiscard]] int window() const noexcept { return static_cast<int>(window_); }
  [[nodiscard]] int channels() const noexcept { return window() * line_.workers(); }

  /// What the message of a round carries.
  static std::int64_t value_of(int channel, std::int64_t round) noexcept { return (round << 16) + channel; }
  /// Any thread.
  void received(int channel, std::int64_t round, std::int64_t value) noexcept {
    if (value != value_of(channel, round)) [[unlikely]] {
      wrong_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  /// `run` exchanges the messages of all channels. An operation is a message that this rank sends. Returns the exit status.
  int measure(const Ranks& ranks, std::function<void()> run) {
    Report report(line_);
    measure_ranks(line_, report, {.operations = rounds_ * channels(), .run = std::move(run), .check = [this] {
                                    return wrong_ == 0 ? std::string{}
                                                       : std::to_string(wrong_) + " messages were others than expected";
                                  }});
    return finish(ranks, report);
  }

 private:
  const CommandLine& line_;
  const std::int64_t& rounds_;
  const std::int64_t& window_;
  std::atomic<std::int64_t> wrong_{0};
};

}  // namespace bench
