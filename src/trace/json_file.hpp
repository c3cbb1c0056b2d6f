// Writes JSON text to a file in large pieces. A trace is too large for a document in memory, and nlohmann::json writes documents only. So the
// exporter makes the text of each event itself. The library makes strings and small objects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dovetail::trace {

/// The text as a JSON string, in quotes. What is not UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

/// Appends text to a file. One thread; all functions that write throw std::system_error naming the file.
class JsonFile {
 public:
  enum Contents : bool { replace_contents, keep_contents };
  /// Creates the file, and empties it with `replace_contents`. Pipes, devices and symbolic links are refused.
  explicit JsonFile(std::string path, Contents before = replace_contents);
  ~JsonFile();
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;

  /// Text that is JSON already.
  JsonFile& raw(std::string_view text);
  JsonFile& number(std::int64_t value);
  JsonFile& number(std::uint64_t value);
  /// Nanoseconds, as microseconds with three decimals.
  JsonFile& microseconds(std::int64_t nanoseconds);
  /// A quoted hexadecimal number: JSON readers round integers above 2^53.
  JsonFile& identity(std::uint64_t value);
  /// Writes what is left and closes the file. Without it the file is incomplete.
  void close();

 private:
  [[noreturn]] void fail(int error, const char* doing, std::string_view why = {}) const;
  void flush();

  std::string path_;
  int file_ = -1;
  std::uint64_t written_ = 0;
  std::string text_;
};

}  // namespace dovetail::trace
