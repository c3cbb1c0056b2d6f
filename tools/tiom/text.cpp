#include "text.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace dovetail::tiom {
namespace {

constexpr std::size_t list_limit = 64;

/// Both ends of a "from-to"; a single value is its own range.
std::pair<std::string, std::string> ends_of(const std::string& text) {
  const auto dash = text.find('-', 1);
  if (dash == std::string::npos) {
    return {text, text};
  }
  return {text.substr(0, dash), text.substr(dash + 1)};
}

template <class Value>
std::vector<Value> expand(const std::string& text, Value (*parse)(const std::string&)) {
  std::vector<Value> values;
  for (const std::string& element : split_list(text)) {
    const auto [from, to] = ends_of(element);
    const Value first = parse(from);
    const Value last = parse(to);
    if (last < first) {
      throw std::invalid_argument("'" + element + "' ends before it begins");
    }
    if (first <= 0 && last > first) {
      throw std::invalid_argument("'" + element + "': the powers of two from 0 have no end");
    }
    Value value = first;
    while (value <= last && values.size() <= list_limit) {
      values.push_back(value);
      if (value <= 0 || value > std::numeric_limits<Value>::max() / 2) {
        break;
      }
      value *= 2;
    }
    if (values.size() > list_limit) {
      throw std::invalid_argument("'" + text + "' stands for more than " + std::to_string(list_limit) + " values");
    }
  }
  return values;
}

}  // namespace

std::uint64_t parse_count(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) {
    throw std::invalid_argument("'" + text + "' is too large");
  }
  if (error != std::errc() || stop != end) {
    throw std::invalid_argument("'" + text + "' is not a whole number");
  }
  return value;
}

std::uint64_t parse_size(const std::string& text) {
  std::string digits = text;
  unsigned shift = 0;
  const auto letter = digits.find_first_not_of("0123456789");
  if (letter != std::string::npos) {
    const std::string unit = digits.substr(letter);
    digits.resize(letter);
    const std::string plain = unit.ends_with("iB") ? unit.substr(0, unit.size() - 2) : unit;
    if (plain == "K" || plain == "k") {
      shift = 10;
    } else if (plain == "M" || plain == "m") {
      shift = 20;
    } else if (plain == "G" || plain == "g") {
      shift = 30;
    } else {
      throw std::invalid_argument("'" + text + "' is not a size: write bytes, or a number and K, M or G");
    }
  }
  if (digits.empty()) {
    throw std::invalid_argument("'" + text + "' is not a size: write bytes, or a number and K, M or G");
  }
  const std::uint64_t value = parse_count(digits);
  if (value > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    throw std::invalid_argument("'" + text + "' is too large");
  }
  return value << shift;
}

double parse_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || value < 0) {
    throw std::invalid_argument("'" + text + "' is not a number of at least 0");
  }
  return value;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> elements;
  std::size_t begin = 0;
  while (true) {
    const auto comma = text.find(',', begin);
    elements.push_back(text.substr(begin, comma == std::string::npos ? comma : comma - begin));
    if (elements.back().empty()) {
      throw std::invalid_argument("'" + text + "': a value is missing");
    }
    if (elements.size() > list_limit) {
      throw std::invalid_argument("more than " + std::to_string(list_limit) + " values");
    }
    if (comma == std::string::npos) {
      return elements;
    }
    begin = comma + 1;
  }
}

std::vector<std::uint64_t> parse_sizes(const std::string& text) { return expand(text, &parse_size); }
std::vector<double> parse_numbers(const std::string& text) { return expand(text, &parse_number); }

std::vector<std::uint64_t> parse_series(const std::string& text, unsigned workers) {
  std::vector<std::uint64_t> values;
  for (const std::string& element : split_list(text)) {
    const bool times = element.ends_with('x');
    const std::uint64_t count = parse_count(times ? element.substr(0, element.size() - 1) : element);
    constexpr std::uint64_t most = 1'000'000;
    if (count == 0 || count > most || (times && count * workers > most)) {
      throw std::invalid_argument("'" + element + "': at least 1 and at most 1000000 series");
    }
    values.push_back(times ? count * workers : count);
  }
  return values;
}

std::string size_text(std::uint64_t bytes) {
  for (const auto& [shift, unit] : {std::pair{30U, "G"}, std::pair{20U, "M"}, std::pair{10U, "K"}}) {
    if (bytes >= (1ULL << shift) && bytes % (1ULL << shift) == 0) {
      return std::to_string(bytes >> shift) + unit;
    }
  }
  return std::to_string(bytes);
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) {
    return std::to_string(whole) + " s";
  }
  if (whole < 3600) {
    return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  }
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

}  // namespace dovetail::tiom
