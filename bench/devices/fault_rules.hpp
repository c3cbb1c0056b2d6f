#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::devices {

enum class Operation : unsigned { open, read, write, fsync, fallocate, close };

using Clock = std::chrono::steady_clock;

/// What is to become of one operation.
struct Verdict {
  int error = 0;               ///< errno to fail with, 0: carry it out
  std::size_t length = 0;      ///< bytes to transfer, at most those asked for
  Clock::time_point due;       ///< when the caller may hear of it
  bool hold = false;           ///< not before the rules are replaced or held calls released
  std::uint64_t releases = 0;  ///< how often that had happened before this was said
};

/// One line of the rule language (see README.md), its state included.
struct FaultRule {
  std::string text;
  unsigned operations = 0;  ///< bit n: Operation n
  std::string path;         ///< glob over the path below the mount point; empty: all
  std::uint64_t begin = 0;
  std::uint64_t end = UINT64_MAX;
  std::uint64_t nth = 0;  ///< 0: not asked for, as in the three below
  std::uint64_t every = 0;
  std::uint64_t times = 0;
  std::optional<std::uint64_t> after;

  int error = 0;
  std::optional<std::size_t> longest;
  std::chrono::nanoseconds delay{0};
  double bytes_per_second = 0;
  bool hold = false;

  std::uint64_t matched = 0;  ///< operations that it speaks of
  std::uint64_t fired = 0;    ///< those that it changed
  std::uint64_t bytes = 0;    ///< what the matched ones have transferred, as far as this rule let them
  Clock::time_point next{};   ///< when the bandwidth's bucket has bytes again
};

/// A line that is no rule; the message names the word and what is allowed.
struct BadRule : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// Parses one line; comments (#) and blank lines give nothing. Throws BadRule.
std::optional<FaultRule> parse_rule(std::string_view line);

/// The rules in force. Thread safe.
class FaultRules {
 public:
  void append(std::vector<FaultRule> rules);
  /// Both return how often held calls have been released by now, this time among them: verdicts with fewer hold no more.
  std::uint64_t clear();
  std::uint64_t release();

  /// Judges one operation and counts it. `path` is called only if a rule asks for the path.
  template <typename Path>
  Verdict judge(Operation operation, Path path, std::uint64_t offset, std::size_t length) {
    const std::lock_guard lock(mutex_);
    Verdict verdict{.error = 0, .length = length, .due = {}, .hold = false, .releases = releases_};
    std::optional<std::string> known_path;
    for (FaultRule& rule : rules_) {
      if (!concerns(rule, operation, offset, length)) {
        continue;
      }
      if (!rule.path.empty()) {
        if (!known_path) {
          known_path = path();
        }
        if (!path_matches(rule, *known_path)) {
          continue;
        }
      }
      apply(rule, length, verdict);
    }
    return verdict;
  }

  /// One line per rule, with its counters as a comment.
  std::string describe() const;

 private:
  static bool concerns(const FaultRule& rule, Operation operation, std::uint64_t offset, std::size_t length);
  static bool path_matches(const FaultRule& rule, const std::string& path);
  static void apply(FaultRule& rule, std::size_t length, Verdict& verdict);

  mutable std::mutex mutex_;
  std::vector<FaultRule> rules_;
  std::uint64_t releases_ = 0;
};

}  // namespace dovetail::devices
