#include "base/kernel_files.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace dovetail::base {

std::string whole_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::uint64_t number_in(std::string_view text) noexcept {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool has_word(std::string_view list, std::string_view word) noexcept {
  bool found = false;
  for_each_part(list, ',', [&](std::string_view part) { found = found || part == word; });
  return found;
}

}  // namespace dovetail::base
