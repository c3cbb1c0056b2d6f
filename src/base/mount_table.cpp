#include "base/mount_table.hpp"

#include <algorithm>
#include <charconv>

#include "base/kernel_files.hpp"

namespace dovetail::base {
namespace {

// The mount table writes blanks and the like as a backslash and three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, value, 8).ptr == text.data() + i + 4) {
      plain += static_cast<char>(value);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for_each_part(line, ' ', [&](std::string_view word) {
    if (!word.empty()) {
      words.push_back(word);
    }
  });
  return words;
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view text) {
  std::vector<Mount> mounts;
  for_each_line(text, [&](std::string_view line) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) {
      return;
    }
    const std::vector<std::string_view> before = words_of(line.substr(0, dash));
    const std::vector<std::string_view> after = words_of(line.substr(dash + 3));
    if (before.size() < 6 || after.empty()) {
      return;
    }
    // An empty source leaves only the options.
    mounts.push_back({.id = number_in(before[0]),
                      .number = std::string(before[2]),
                      .root = unescape(before[3]),
                      .mount_point = unescape(before[4]),
                      .file_system = std::string(after[0]),
                      .source = after.size() > 2 ? unescape(after[1]) : std::string(),
                      .options = std::string(before[5]) + "," + std::string(after.back())});
  });
  return mounts;
}

std::vector<Mount> mounts_now() { return parse_mounts(whole_file("/proc/self/mountinfo")); }

}  // namespace dovetail::base
