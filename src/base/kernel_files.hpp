// The small text files in which the kernel describes the machine and this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::base {

/// All of a file; empty if it cannot be read.
std::string whole_file(const std::string& path);
/// The first line of a file; empty if it cannot be read.
std::string first_line(const std::string& path);
/// The number with which a text begins; 0 if it begins with none.
std::uint64_t number_in(std::string_view text) noexcept;
/// Whether a list that is separated by commas has this word.
bool has_word(std::string_view list, std::string_view word) noexcept;

/// Calls `use` with each part of a text between two separators. Behind the last separator there is none if nothing follows.
template <class Use>
void for_each_part(std::string_view text, char separator, Use&& use) {
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    use(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}
/// Calls `use` with each line of a text, without its end.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  for_each_part(text, '\n', use);
}

}  // namespace dovetail::base
