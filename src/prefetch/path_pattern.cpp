#include "prefetch/path_pattern.hpp"

#include <cstddef>

namespace dovetail::prefetching {
namespace {

constexpr std::size_t nowhere = std::string_view::npos;

// `substr` without the exception, which a library in foreign programs cannot have.
constexpr std::string_view behind(std::string_view whole, std::size_t at) noexcept {
  whole.remove_prefix(at);
  return whole;
}

// The end of the class of characters that begins at `at`; `nowhere`: the bracket is never closed, and stands for itself.
std::size_t end_of_class(std::string_view pattern, std::size_t at) noexcept {
  std::size_t first = at + 1;
  if (first < pattern.size() && pattern[first] == '!') {
    ++first;
  }
  // A bracket that comes first belongs to the class.
  return first < pattern.size() ? pattern.find(']', first + 1) : nowhere;
}

bool is_in_class(std::string_view inside, char character) noexcept {
  const bool inverted = inside.front() == '!';
  inside.remove_prefix(inverted ? 1 : 0);
  const auto code = [](char of) { return static_cast<unsigned char>(of); };
  for (std::size_t at = 0; at < inside.size(); ++at) {
    const bool is_range = at + 2 < inside.size() && inside[at + 1] == '-';
    const char last = is_range ? inside[at + 2] : inside[at];
    if (code(inside[at]) <= code(character) && code(character) <= code(last)) {
      return !inverted;
    }
    at += is_range ? 2 : 0;
  }
  return inverted;
}

// Where the pattern goes on behind what stands for this one character; `nowhere`: it stands for another.
std::size_t behind_one(std::string_view pattern, std::size_t at, char character) noexcept {
  if (pattern[at] == '?') {
    return character == '/' ? nowhere : at + 1;
  }
  if (pattern[at] == '[') {
    const std::size_t end = end_of_class(pattern, at);
    if (end != nowhere) {
      const std::string_view inside{pattern.data() + at + 1, end - at - 1};
      const bool fits = character != '/' && is_in_class(inside, character);
      return fits ? end + 1 : nowhere;
    }
  }
  return pattern[at] == character ? at + 1 : nowhere;
}

/// What a `*` or `**` stands for was chosen as short as possible: here it becomes longer.
struct Choice {
  std::size_t pattern = nowhere;  // where the pattern goes on behind it
  std::size_t path = 0;           // where the path does

  // By one character, which must not be `/`.
  bool grow_in_name(std::string_view whole) noexcept {
    if (pattern == nowhere || path >= whole.size() || whole[path] == '/') {
      return false;
    }
    ++path;
    return true;
  }
  // By one character, or up to behind the next `/`.
  bool grow(std::string_view whole, bool by_folder) noexcept {
    if (pattern == nowhere || path >= whole.size()) {
      return false;
    }
    const std::size_t slash = by_folder ? whole.find('/', path) : path;
    path = slash == nowhere ? whole.size() : slash + 1;
    return slash != nowhere;
  }
};

}  // namespace

bool matches(std::string_view pattern, std::string_view path) noexcept {
  std::size_t at = 0;
  std::size_t in_path = 0;
  Choice star;
  Choice deep;
  bool by_folder = false;
  for (;;) {
    if (behind(pattern, at).starts_with("**")) {
      by_folder = at > 0 && pattern[at - 1] == '/' && behind(pattern, at + 2).starts_with('/');
      at += by_folder ? 3 : 2;
      deep = {at, in_path};
      star = {};
      continue;
    }
    if (at < pattern.size() && pattern[at] == '*') {
      star = {++at, in_path};
      continue;
    }
    if (at == pattern.size() && in_path == path.size()) {
      return true;
    }
    const bool both = at < pattern.size() && in_path < path.size();
    const std::size_t next = both ? behind_one(pattern, at, path[in_path]) : nowhere;
    if (next != nowhere) {
      at = next;
      ++in_path;
    } else if (star.grow_in_name(path)) {
      at = star.pattern;
      in_path = star.path;
    } else if (deep.grow(path, by_folder)) {
      star = {};
      at = deep.pattern;
      in_path = deep.path;
    } else {
      return false;
    }
  }
}

}  // namespace dovetail::prefetching
