#include "trace/json_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <system_error>

#include "base/plain_file.hpp"
#include "base/zero_byte.hpp"

namespace dovetail::trace {

namespace {

constexpr std::size_t piece = std::size_t{1} << 18;

/// The length of the UTF-8 character at the start of the text, or 0 where there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Longer than need be, halves of a surrogate pair, and beyond the last character.
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

template <class... Format>
void append_number(std::string& text, Format... format) {
  std::array<char, 40> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), format...).ptr;
  text.append(digits.data(), end);
}

void append_escaped(std::string& text, char character) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(character);
  switch (character) {
    case '"':
    case '\\':
      text += '\\';
      text += character;
      break;
    case '\n':
      text += "\\n";
      break;
    case '\t':
      text += "\\t";
      break;
    default:
      if (value >= 0x20 && value != 0x7F) {
        text += character;
      } else {
        text += "\\u00";
        text += hexadecimal[value >> 4];
        text += hexadecimal[value & 15];
      }
  }
}

}  // namespace

JsonFile::JsonFile(std::string path, Contents before) : path_(std::move(path)) {
  if (base::has_zero_byte(path_)) fail(EINVAL, "create");
  const int truncate = before == keep_contents ? 0 : O_TRUNC;
  const base::OpenedFile opened = base::open_plain_file(path_, O_WRONLY | O_CREAT | truncate, {.of_anyone = true});
  file_ = opened.descriptor;
  if (file_ < 0) fail(opened.error != 0 ? opened.error : EINVAL, "create", opened.why);
  text_.reserve(piece + piece / 4);
}

JsonFile::~JsonFile() {
  if (file_ >= 0) ::close(file_);
}

void JsonFile::fail(int error, const char* doing, std::string_view why) const {
  std::string message = "cannot ";
  message += doing;
  message += " the trace file '" + base::show_zero_bytes(path_) + "'";
  if (written_ > 0) message += " at offset " + std::to_string(written_);
  if (!why.empty()) message.append(": ").append(why);
  message += ": choose a path that can be written, on a file system with room";
  throw std::system_error(error, std::generic_category(), message);
}

void JsonFile::flush() {
  std::string_view rest = text_;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno, "write");
    written_ += static_cast<std::uint64_t>(count);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  text_.clear();
}

JsonFile& JsonFile::raw(std::string_view text) {
  text_ += text;
  if (text_.size() >= piece) flush();
  return *this;
}

JsonFile& JsonFile::string(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 1)
      append_escaped(text_, text.front());
    else
      text_ += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
  return *this;
}

JsonFile& JsonFile::number(std::int64_t value) {
  append_number(text_, value);
  return *this;
}

JsonFile& JsonFile::number(std::uint64_t value) {
  append_number(text_, value);
  return *this;
}

JsonFile& JsonFile::number(double value) {
  append_number(text_, std::isfinite(value) ? value : 0.0, std::chars_format::general, 9);
  return *this;
}

JsonFile& JsonFile::microseconds(std::int64_t nanoseconds) {
  if (nanoseconds < 0) {
    text_ += '-';
    nanoseconds = -nanoseconds;
  }
  append_number(text_, nanoseconds / 1000);
  const auto rest = static_cast<unsigned>(nanoseconds % 1000);
  const std::array<char, 4> decimals{'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                                     static_cast<char>('0' + rest % 10)};
  text_.append(decimals.data(), decimals.size());
  return *this;
}

JsonFile& JsonFile::identity(std::uint64_t value) {
  text_ += "\"0x";
  append_number(text_, value, 16);
  text_ += '"';
  return *this;
}

void JsonFile::close() {
  flush();
  const int file = file_;
  file_ = -1;
  if (::close(file) != 0 && errno != EINTR) fail(errno, "finish");
}

}  // namespace dovetail::trace
