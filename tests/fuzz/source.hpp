// What a fuzzer makes of the bytes that it is given.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace dovetail::fuzz {

/// Takes numbers and texts from the input until it ends.
class Source {
 public:
  explicit Source(std::string_view text) : text_(text) {}
  bool ended() const { return text_.empty(); }
  unsigned byte() {
    const unsigned value = ended() ? 0 : static_cast<unsigned char>(text_.front());
    text_.remove_prefix(ended() ? 0 : 1);
    return value;
  }
  std::uint64_t number() {
    const std::uint64_t value = byte();
    return value < 200 ? value : value << (byte() % 57);
  }
  /// Below 65536.
  std::size_t short_number() {
    const std::size_t high = byte();
    return high << 8 | byte();
  }
  /// A small number, one near a power of two, or any.
  std::uint64_t any_number() {
    const unsigned kind = byte();
    std::uint64_t value = kind;
    if (kind >= 250) {
      const std::string_view taken = bytes(sizeof value);
      value = 0;
      std::memcpy(&value, taken.data(), taken.size());
    } else if (kind >= 200) {
      value = (std::uint64_t{1} << (byte() % 64)) + kind % 5 - 2;
    } else if (kind >= 100) {
      value = std::uint64_t{kind} << 12;
    }
    return value;
  }
  std::string_view bytes(std::size_t most) {
    const std::string_view taken = text_.substr(0, most);
    text_.remove_prefix(taken.size());
    return taken;
  }
  std::string text() { return std::string(bytes(byte() % 40)); }

 private:
  std::string_view text_;
};

/// As another process does that maps the same memory: writes a number anywhere, or some bytes.
inline void write_into(std::byte* memory, std::size_t size, Source& source) {
  const std::size_t at = (source.short_number() << 8 | source.byte()) % size;
  if (source.byte() % 4 == 0) {
    const std::string_view taken = source.bytes(std::min<std::size_t>(source.byte(), size - at));
    std::memcpy(memory + at, taken.data(), taken.size());
    return;
  }
  const std::uint64_t value = source.any_number();
  std::memcpy(memory + at, &value, std::min({std::size_t{1} << source.byte() % 4, sizeof value, size - at}));
}

}  // namespace dovetail::fuzz
