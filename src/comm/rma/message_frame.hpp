// What one process sends another one as a message of an MPI library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace dovetail::comm::rma {

/// The beginning of each message. Both ranks have the same order of bytes.
struct Frame {
  enum class Kind : std::uint8_t {
    message,  ///< A `Message` follows.
    write,    ///< A part of what is written follows.
    read,     ///< Asks for memory.
    part,     ///< A part of what was read follows.
    taken,    ///< Nothing: see `taken`. It needs no room.
  };
  Kind kind = Kind::taken;
  bool has_data = false;  ///< `data` is told when this part is there.
  std::uint16_t unused = 0;
  std::uint32_t unused_too = 0;
  std::uint64_t taken =
      0;  ///< How many of the receiver's messages, without those of the kind `taken`, the sender has taken so far.
  std::uint64_t address =
      0;  ///< Of the memory of a write or a read; of a part that was read: where in the whole it begins.
  std::uint64_t key = 0;    ///< Of that memory.
  std::uint64_t bytes = 0;  ///< Of a read.
  std::uint64_t id = 0;     ///< Of a read, and of its parts.
  std::uint64_t data = 0;
};
static_assert(sizeof(Frame) == 56);

/// Memory for a message. Small and large ones are kept for the next.
class Frames {
 public:
  static constexpr std::size_t most_payload = std::size_t{64} << 10;
  static constexpr std::size_t largest = sizeof(Frame) + most_payload;
  static constexpr std::size_t small = std::size_t{4} << 10;

  struct Buffer {
    std::unique_ptr<std::byte[]>
        bytes;  // NOLINT(modernize-avoid-c-arrays): its size is known at run time, and it is not cleared
    std::size_t capacity = 0;
    std::size_t size = 0;
    std::span<std::byte> used() const noexcept { return {bytes.get(), size}; }
    std::span<std::byte> payload() const noexcept { return used().subspan(sizeof(Frame)); }
  };
  Buffer take(std::size_t size) {
    std::vector<Buffer>& kept = size <= small ? small_ : large_;
    Buffer buffer;
    if (size <= largest && !kept.empty()) {
      buffer = std::move(kept.back());
      kept.pop_back();
    } else {
      buffer.capacity = size <= small ? small : size <= largest ? largest : size;
      buffer.bytes = std::make_unique_for_overwrite<std::byte[]>(buffer.capacity);  // NOLINT(modernize-avoid-c-arrays)
    }
    buffer.size = size;
    return buffer;
  }
  void give_back(Buffer buffer) noexcept {
    std::vector<Buffer>& kept = buffer.capacity == small ? small_ : large_;
    if (buffer.capacity <= largest && kept.size() < kept.capacity()) {
      kept.push_back(std::move(buffer));
    }
  }
  Frames() {
    small_.reserve(most_kept);
    large_.reserve(most_kept);
  }

 private:
  static constexpr std::size_t most_kept = 64;
  std::vector<Buffer> small_;
  std::vector<Buffer> large_;
};

}  // namespace dovetail::comm::rma
