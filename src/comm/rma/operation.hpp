// What is under way between this process and one of another node, and what waits for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/rma/waiter.hpp"

namespace dovetail::comm::rma {

/// Memory of a process as its fabric names it.
struct RemoteMemory {
  std::uint64_t address = 0;  ///< Of the first byte.
  std::uint64_t key = 0;
};

/// A call that has ended when all its operations have: what is written may be changed, what is read is there.
struct RemoteCall final : Waiter {
  const char* what = "";  ///< "write", "read", ...
  int rank = 0;
  std::uint8_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  unsigned left = 0;  ///< How many of its operations have not ended. Under the lock of the fabric.

  /// "write of 8 bytes at 16 in segment 1 of rank 2"
  std::string text() const override {
    return std::string(what) + " of " + std::to_string(bytes) + " bytes at " + std::to_string(offset) + " in segment " +
           std::to_string(segment) + " of rank " + std::to_string(rank);
  }
};

/// What one process tells another one over the fabric; the receiver's thread of the fabric answers it. Both have the same order of bytes.
struct Message {
  enum class Kind : std::uint8_t {
    notification,  ///< `first`: packed.
    taken,         ///< `first`: how many notifications of the receiver's have been taken so far.
    fetch_add,     ///< `first`: the offset; `second`: what is added; `id`: comes back with the answer.
    compare_swap,  ///< `first`: the offset; `second`: what is expected; `third`: what is stored.
    answer,        ///< `first`: what was there.
    goodbye,       ///< The sender ends its group, and sends nothing but answers after this.
    farewell,      ///< All that came before the goodbye has been taken.
    left,          ///< All ranks end `segment`, and the sender uses it no more.
  };
  Kind kind = Kind::notification;
  std::uint8_t segment = 0;
  std::uint16_t unused = 0;
  std::int32_t rank = 0;  ///< Of the sender.
  std::uint64_t id = 0;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
};
static_assert(sizeof(Message) == 40);

/// Memory that the fabric may use, until this is destroyed.
class Registration {
 public:
  virtual ~Registration() = default;
  virtual RemoteMemory memory() const noexcept = 0;
  virtual void* descriptor() const noexcept = 0;  ///< For operations of this process.
};

struct Operation {
  enum class Kind : std::uint8_t {
    write,
    write_with_data,  ///< `data` arrives with the last byte.
    read,
    message,
  };

  alignas(64) std::array<std::byte, 64> of_provider{};  ///< First, since the provider gives the address of this back.
  Kind kind = Kind::write;
  int rank = 0;
  std::byte* local = nullptr;
  std::size_t bytes = 0;
  RemoteMemory remote;
  std::uint64_t data = 0;
  Message message;
  std::vector<std::byte> copy;  ///< What `local` points to if this owns it.
  std::byte* wanted = nullptr;  ///< Of a read: where the copy goes in the end.
  RemoteCall* call = nullptr;   ///< Null: nothing waits for it, or not any more.
  bool has_failed = false;      ///< The provider has given it back; its call is told when the rank's end is known.
  std::unique_ptr<Registration> registration;  ///< Of `local`, where the provider wants that.

  Operation* next = nullptr;  ///< In a queue.
  /// @name Among those under way to the rank
  /// @{
  Operation* before = nullptr;
  Operation* after = nullptr;
  /// @}
};

}  // namespace dovetail::comm::rma
