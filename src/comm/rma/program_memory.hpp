// Memory of another process that is no shared memory: the kernel copies into it and out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "comm/rma/peer.hpp"

namespace dovetail::comm::rma {

/// A range of a segment that is memory of the program's own. Its bounds have been checked.
struct ProgramMemory {
  const Peer& peer;
  int rank = 0;
  std::uint8_t segment = 0;
  std::uint64_t offset = 0;
  std::byte* there = nullptr;  ///< In that process.
};

/// @name Copying
/// All has been copied when they return. A store that the calling thread makes afterwards is seen after it. @throws dovetail::rma::Error if the process
/// has ended, std::system_error, with EFAULT if the memory is not mapped
/// @{
void write_program_memory(const ProgramMemory& to, std::span<const std::byte> data);
void read_program_memory(const ProgramMemory& from, std::span<std::byte> data);
/// @}

/// Whether this process may reach the memory of that one, tried at both ends of a range. @returns 0, or the errno of the kernel
int try_program_memory(const Peer& peer, const std::byte* there, std::uint64_t bytes) noexcept;
/// What such an errno means, and what may be done, as the end of a sentence.
std::string text_of_refusal(int error);

}  // namespace dovetail::comm::rma
