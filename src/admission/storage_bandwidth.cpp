#include "dovetail/storage_bandwidth.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace dovetail {
namespace {

constexpr const char* forms = "'none', a number of MB/s, 'auto', 'auto(min,max,delta)' or 'adaptive'";

std::string without_spaces(std::string_view text) {
  std::string result;
  for (const char character : text) {
    if (character != ' ' && character != '\t') {
      result += character;
    }
  }
  return result;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("storage bandwidth '" + std::string(text) + "': " + why);
}

double number(std::string_view word, std::string_view whole) {
  double value = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || rest != word.data() + word.size()) {
    refuse(whole, "'" + std::string(word) + "' is not a number; " + forms + " is expected");
  }
  return value;
}

// The shortest text that is read back as the same number.
std::string shortest(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  static_cast<void>(error);  // 32 characters hold any double
  return {text.data(), end};
}

}  // namespace

StorageBandwidth StorageBandwidth::fixed(double mb_per_second) {
  if (!std::isfinite(mb_per_second) || mb_per_second <= 0) {
    throw std::invalid_argument("storage bandwidth " + shortest(mb_per_second) +
                                ": a number of MB/s greater than 0 is expected");
  }
  return {Kind::fixed, mb_per_second, 0, 0};
}

StorageBandwidth StorageBandwidth::automatic(double minimum, double maximum, double delta) {
  const StorageBandwidth result{Kind::bounded, minimum, maximum, delta};
  if (!std::isfinite(minimum) || !std::isfinite(maximum) || minimum <= 0) {
    refuse(result.text(), "min and max must be numbers of MB/s greater than 0");
  }
  if (minimum > maximum) {
    refuse(result.text(), "min (" + shortest(minimum) + ") is greater than max (" + shortest(maximum) + ")");
  }
  if (!std::isfinite(delta) || delta <= 1) {
    refuse(result.text(), "delta (" + shortest(delta) +
                              ") must be greater than 1: each step of learning multiplies the constraint by it");
  }
  return result;
}

StorageBandwidth StorageBandwidth::parse(std::string_view text) {
  const std::string plain = without_spaces(text);
  if (plain.empty() || plain == "none") {
    return {};
  }
  if (plain == "auto") {
    return automatic();
  }
  if (plain == "adaptive") {
    return adaptive();
  }
  if (!plain.starts_with("auto")) {
    const double value = number(plain, text);
    if (!std::isfinite(value) || value <= 0) {
      refuse(text, "a number of MB/s greater than 0 is expected");
    }
    return fixed(value);
  }
  if (!plain.starts_with("auto(") || !plain.ends_with(')')) {
    refuse(text, std::string(forms) + " is expected");
  }
  std::vector<double> values;
  std::string_view inside(plain);
  inside = inside.substr(5, inside.size() - 6);
  for (;;) {
    const auto comma = inside.find(',');
    values.push_back(number(inside.substr(0, comma), text));
    if (comma == std::string_view::npos) {
      break;
    }
    inside.remove_prefix(comma + 1);
  }
  if (values.size() != 3) {
    refuse(text, "three numbers are expected, auto(min,max,delta)");
  }
  return automatic(values[0], values[1], values[2]);
}

std::string StorageBandwidth::text() const {
  switch (kind_) {
    case Kind::fixed:
      return shortest(first_);
    case Kind::automatic:
      return "auto";
    case Kind::bounded:
      return "auto(" + shortest(first_) + "," + shortest(maximum_) + "," + shortest(delta_) + ")";
    case Kind::adaptive:
      return "adaptive";
    case Kind::none:
      break;
  }
  return "none";
}

}  // namespace dovetail
