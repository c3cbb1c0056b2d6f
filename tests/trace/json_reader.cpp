#include "json_reader.hpp"

#include <charconv>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace dovetail::trace::test {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json whole() {
    Json json = value();
    skip_space();
    if (position_ != text_.size()) fail("something after the end");
    return json;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at offset " + std::to_string(position_) + ": " +
                             std::string(text_.substr(position_, 40)));
  }
  char peek() const {
    if (position_ == text_.size()) fail("unexpected end");
    return text_[position_];
  }
  void skip_space() {
    while (position_ < text_.size() && std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos)
      ++position_;
  }
  void expect(char character) {
    if (peek() != character) fail(std::string("no '") + character + "'");
    ++position_;
  }
  bool take(std::string_view word) {
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  Json value() {
    skip_space();
    switch (peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return {string()};
      default:
        if (take("true")) return {true};
        if (take("false")) return {false};
        if (take("null")) return {nullptr};
        return {number()};
    }
  }

  Json object() {
    JsonObject members;
    expect('{');
    skip_space();
    if (take("}")) return {std::move(members)};
    do {
      skip_space();
      std::string key = string();
      skip_space();
      expect(':');
      if (!members.emplace(key, value()).second) fail("the key '" + key + "' twice");
      skip_space();
    } while (take(","));
    expect('}');
    return {std::move(members)};
  }

  Json array() {
    JsonArray elements;
    expect('[');
    skip_space();
    if (take("]")) return {std::move(elements)};
    do {
      elements.push_back(value());
      skip_space();
    } while (take(","));
    expect(']');
    return {std::move(elements)};
  }

  double number() {
    const char* begin = text_.data() + position_;
    double result = 0;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), result);
    const std::string_view digits(begin, static_cast<std::size_t>(end - begin));
    const std::size_t first = digits.starts_with('-') ? 1 : 0;
    const auto is_digit = [&](std::size_t i) { return i < digits.size() && digits[i] >= '0' && digits[i] <= '9'; };
    if (error != std::errc() || !is_digit(first) || (digits[first] == '0' && is_digit(first + 1)) ||
        digits.ends_with('.'))
      fail("no value");
    position_ += digits.size();
    return result;
  }

  unsigned hexadecimal() {
    unsigned result = 0;
    const std::string_view digits = text_.substr(position_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4) fail("no \\u escape");
    position_ += 4;
    return result;
  }

  std::string string() {
    std::string result;
    expect('"');
    while (peek() != '"') {
      if (static_cast<unsigned char>(peek()) < 0x20) fail("a control character in a string");
      if (peek() != '\\') {
        character(result);
        continue;
      }
      ++position_;
      escape(result);
    }
    ++position_;
    return result;
  }

  void escape(std::string& result) {
    const char letter = peek();
    ++position_;
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const std::size_t index = letters.find(letter);
    if (index != std::string_view::npos) {
      result += meanings[index];
      return;
    }
    const unsigned code = letter == 'u' ? hexadecimal() : 0x80;
    if (code >= 0x80) fail("an escape that this reader does not expect");
    result += static_cast<char>(code);
  }

  void character(std::string& result) {
    const auto first = static_cast<unsigned char>(peek());
    const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    const std::string_view bytes = text_.substr(position_, length);
    bool good = bytes.size() == length && (length == 1 || (first >= 0xC2 && first <= 0xF4));
    for (std::size_t i = 1; i < bytes.size(); ++i) good = good && (static_cast<unsigned char>(bytes[i]) & 0xC0) == 0x80;
    if (!good) fail("no UTF-8");
    result += bytes;
    position_ += length;
  }

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

Json read_json(std::string_view text) { return Reader(text).whole(); }

Json read_json_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return read_json(text.str());
}

}  // namespace dovetail::trace::test
