#include "trace/json_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/plain_file.hpp"
#include "base/zero_byte.hpp"

namespace dovetail::trace {

namespace {

constexpr std::size_t piece = std::size_t{1} << 18;

template <class... Format>
void append_number(std::string& text, Format... format) {
  std::array<char, 40> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), format...).ptr;
  text.append(digits.data(), end);
}

}  // namespace

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

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

JsonFile& JsonFile::number(std::int64_t value) {
  append_number(text_, value);
  return *this;
}

JsonFile& JsonFile::number(std::uint64_t value) {
  append_number(text_, value);
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
