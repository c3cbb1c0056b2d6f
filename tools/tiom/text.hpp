/// @file
/// Sizes, lists and ranges as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dovetail::tiom {

/// "4096", "4K", "64M", "2G": bytes, K being 1024. @throws std::invalid_argument saying what is wrong with `text`.
std::uint64_t parse_size(const std::string& text);
/// A whole number without sign. @throws std::invalid_argument.
std::uint64_t parse_count(const std::string& text);
/// A finite number of at least 0, with no unit. @throws std::invalid_argument.
double parse_number(const std::string& text);
/// Splits at commas; no element may be empty. @throws std::invalid_argument.
std::vector<std::string> split_list(const std::string& text);
/// "4K,64K" or the powers of two from one to the other, "4K-8M". @throws std::invalid_argument.
std::vector<std::uint64_t> parse_sizes(const std::string& text);
/// "1,8" or the powers of two from one to the other, "1-128". @throws std::invalid_argument.
std::vector<double> parse_numbers(const std::string& text);
/// "8" series, or "2x" as many as there are workers. @throws std::invalid_argument.
std::vector<std::uint64_t> parse_series(const std::string& text, unsigned workers);
/// 131072 as "128K", 5000 as "5000".
std::string size_text(std::uint64_t bytes);
/// Seconds as "12 s", "3 min 20 s" or "2 h 5 min".
std::string duration_text(double seconds);

}  // namespace dovetail::tiom
