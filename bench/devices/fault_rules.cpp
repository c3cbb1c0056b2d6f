#include "fault_rules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "errno_names.hpp"

namespace dovetail::devices {
namespace {

constexpr std::array<std::string_view, 6> operation_names = {"open", "read", "write", "fsync", "fallocate", "close"};

[[noreturn]] void refuse(std::string_view word, const std::string& reason) {
  throw BadRule("'" + std::string(word) + "': " + reason);
}

std::uint64_t parse_bytes(std::string_view word, std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view suffix(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  constexpr std::string_view suffixes = "kMG";
  if (error == std::errc{} && suffix.empty()) {
    return value;
  }
  const auto power = suffix.size() == 1 ? suffixes.find(suffix[0]) : std::string_view::npos;
  if (error != std::errc{} || power == std::string_view::npos || value > (UINT64_MAX >> (10 * (power + 1)))) {
    refuse(word, "a number of bytes is expected, such as 4096, 64k, 2M or 1G");
  }
  return value << (10 * (power + 1));
}

double parse_positive(std::string_view word, std::string_view text, const char* unit) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || !(value > 0) || value > 1e6) {
    refuse(word, std::string("a number of ") + unit + " is expected, over 0 and at most 1000000");
  }
  return value;
}

std::uint64_t parse_count(std::string_view word, std::string_view text) {
  std::uint64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value == 0) {
    refuse(word, "a whole number, at least 1, is expected");
  }
  return value;
}

unsigned parse_operations(std::string_view word) {
  unsigned operations = 0;
  for (std::string_view left = word;;) {
    const auto comma = left.find(',');
    const auto name = std::find(operation_names.begin(), operation_names.end(), left.substr(0, comma));
    if (name == operation_names.end()) {
      refuse(word, "a rule begins with operations, separated by commas: open read write fsync fallocate close");
    }
    operations |= 1U << std::distance(operation_names.begin(), name);
    if (comma == std::string_view::npos) {
      return operations;
    }
    left.remove_prefix(comma + 1);
  }
}

void parse_offsets(FaultRule& rule, std::string_view word, std::string_view value) {
  const auto dots = value.find("..");
  if (dots == std::string_view::npos) {
    refuse(word, "a range BEGIN..END is expected; END may be left out");
  }
  rule.begin = parse_bytes(word, value.substr(0, dots));
  if (dots + 2 < value.size()) {
    rule.end = parse_bytes(word, value.substr(dots + 2));
  }
  if (rule.end <= rule.begin) {
    refuse(word, "the range is empty");
  }
}

void parse_word(FaultRule& rule, std::string_view word) {
  const auto equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (word == "hold") {
    rule.hold = true;
  } else if (key == "path" && !value.empty()) {
    rule.path = value;
  } else if (key == "offset") {
    parse_offsets(rule, word, value);
  } else if (key == "nth") {
    rule.nth = parse_count(word, value);
  } else if (key == "every") {
    rule.every = parse_count(word, value);
  } else if (key == "times") {
    rule.times = parse_count(word, value);
  } else if (key == "after") {
    rule.after = parse_bytes(word, value);
  } else if (key == "error") {
    const auto error = parse_errno(std::string(value));
    if (!error) {
      refuse(word, "the name of an errno is expected, such as EIO or ENOSPC");
    }
    rule.error = *error;
  } else if (key == "short") {
    rule.longest = parse_bytes(word, value);
  } else if (key == "delay") {
    rule.delay = std::chrono::nanoseconds(static_cast<std::int64_t>(parse_positive(word, value, "milliseconds") * 1e6));
  } else if (key == "bandwidth") {
    rule.bytes_per_second = parse_positive(word, value, "MB/s") * 1e6;
  } else {
    refuse(word,
           "expected path=GLOB, offset=BEGIN..END, nth=N, every=N, times=N, after=BYTES,"
           " error=NAME, short=BYTES, delay=MILLISECONDS, bandwidth=MB/S or hold");
  }
}

}  // namespace

std::optional<FaultRule> parse_rule(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  line = line.substr(0, line.find('#'));
  FaultRule rule;
  while (true) {
    const auto begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos) {
      break;
    }
    line.remove_prefix(begin);
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    if (rule.operations == 0) {
      rule.operations = parse_operations(word);
    } else {
      parse_word(rule, word);
    }
    rule.text.append(rule.text.empty() ? 0 : 1, ' ').append(word);
  }
  if (rule.operations == 0) {
    return std::nullopt;
  }
  if (rule.error == 0 && !rule.longest && rule.delay.count() == 0 && rule.bytes_per_second == 0 && !rule.hold) {
    refuse(rule.text, "the rule does nothing: give error=, short=, delay=, bandwidth= or hold");
  }
  return rule;
}

void FaultRules::append(std::vector<FaultRule> rules) {
  const std::lock_guard lock(mutex_);
  rules_.insert(rules_.end(), std::make_move_iterator(rules.begin()), std::make_move_iterator(rules.end()));
}

std::uint64_t FaultRules::clear() {
  const std::lock_guard lock(mutex_);
  rules_.clear();
  return ++releases_;
}

std::uint64_t FaultRules::release() {
  const std::lock_guard lock(mutex_);
  return ++releases_;
}

std::string FaultRules::describe() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const FaultRule& rule : rules_) {
    text += rule.text + " # matched=" + std::to_string(rule.matched) + " fired=" + std::to_string(rule.fired) +
            " bytes=" + std::to_string(rule.bytes) + "\n";
  }
  return text;
}

bool FaultRules::concerns(const FaultRule& rule, Operation operation, std::uint64_t offset, std::size_t length) {
  if ((rule.operations >> static_cast<unsigned>(operation) & 1U) == 0) {
    return false;
  }
  const bool has_range =
      operation == Operation::read || operation == Operation::write || operation == Operation::fallocate;
  return !has_range || (offset < rule.end && offset + length > rule.begin);
}

bool FaultRules::path_matches(const FaultRule& rule, const std::string& path) {
  return fnmatch(rule.path.c_str(), path.c_str(), 0) == 0;
}

void FaultRules::apply(FaultRule& rule, std::size_t length, Verdict& verdict) {
  ++rule.matched;
  bool fires = (rule.nth == 0 || rule.matched == rule.nth) && (rule.every == 0 || rule.matched % rule.every == 0) &&
               (rule.times == 0 || rule.fired < rule.times);
  std::size_t transferred = length;
  if (fires && rule.after && rule.bytes + length <= *rule.after) {
    fires = false;
  } else if (fires && rule.after && rule.error != 0 && rule.bytes < *rule.after) {
    // A disk that fills up takes the bytes that still fit and refuses the next write.
    transferred = static_cast<std::size_t>(*rule.after - rule.bytes);
    verdict.length = std::min(verdict.length, transferred);
    fires = false;
  }
  if (!fires) {
    rule.bytes += transferred;
    return;
  }
  ++rule.fired;
  if (rule.longest) {
    transferred = std::min(transferred, *rule.longest);
    verdict.length = std::min(verdict.length, transferred);
  }
  if (rule.error != 0) {
    transferred = 0;
    verdict.error = verdict.error != 0 ? verdict.error : rule.error;
  }
  rule.bytes += transferred;
  verdict.hold = verdict.hold || rule.hold;
  const auto now = Clock::now();
  if (rule.delay.count() > 0) {
    verdict.due = std::max(verdict.due, now) + rule.delay;
  }
  if (rule.bytes_per_second > 0) {
    // The bucket holds one millisecond's worth: enough to make up for timers that fire late, too little to be seen.
    rule.next = std::max(rule.next, now - std::chrono::milliseconds(1));
    rule.next += std::chrono::nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(verdict.length) * 1e9 / rule.bytes_per_second));
    verdict.due = std::max(verdict.due, rule.next);
  }
}

}  // namespace dovetail::devices
