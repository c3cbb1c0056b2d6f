// What processes tell each other over their connections, when a group or a segment begins.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include "comm/rma/connection.hpp"
#include "comm/rma/operation.hpp"

namespace dovetail::comm::rma {

struct Introduction {
  std::uint64_t magic = 0x646f766574616932;
  std::uint64_t token = 0;  ///< Between nodes: what the starter has told the ranks of the receiver, and nothing else.
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::int32_t process = 0;
  std::int32_t unused = 0;
};

/// What a rank does with a segment while all do: it begins it, or ends it.
struct Offer {
  enum class What : std::uint64_t {
    begins,
    has_none,  ///< The sender has no memory for it. Its verdict says why.
    ends,
  };
  std::uint64_t bytes = 0;
  std::uint32_t notifications = 0;
  std::uint32_t id = 0;
  std::uint64_t program_memory = 0;  ///< Its address; 0: it is shared memory.
  RemoteMemory of_fabric{};          ///< For other nodes.
  What what = What::begins;
};

/// What keeps a process from it.
struct Verdict {
  std::array<char, 1000> problem{};  ///< A text that ends with a zero; empty: there is none.
  /// Cuts what is too long.
  static Verdict of(const std::string& problem) noexcept {
    Verdict made;
    problem.copy(made.problem.data(), made.problem.size() - 1);
    return made;
  }
  /// Whatever another process has sent.
  std::string text() const { return {problem.data(), strnlen(problem.data(), problem.size())}; }
};

/// A message was not there in time, or was another one than expected: what comes next over that connection is not known.
struct OutOfStep : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws OutOfStep if the message is something else
template <class T>
T read_as(const Connection::Message& message, std::size_t descriptors, int rank) {
  T value;
  if (message.bytes.size() != sizeof value || message.descriptors.size() != descriptors) {
    throw OutOfStep("Rank " + std::to_string(rank) +
                    " sent what is no part of the protocol: " + std::to_string(message.bytes.size()) + " bytes, " +
                    std::to_string(message.descriptors.size()) + " descriptors");
  }
  std::memcpy(&value, message.bytes.data(), sizeof value);
  return value;
}

}  // namespace dovetail::comm::rma
