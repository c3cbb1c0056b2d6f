// What DOVETAIL_HDF5_REPORT=1 prints at the end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace dovetail::hdf5 {

/// Why the program waited.
enum class Cause : std::uint8_t {
  budget,
  room,
  read,
  flush,
  readers,
  answer,
  close,
  truncate,
  request,
  compression,
  fork,
  exit
};
inline constexpr std::size_t causes = 12;

/// Guarded by the mutex of `Background`. Times in nanoseconds.
struct Report {
  std::uint64_t transfer_time = 0;     ///< Of transfers in the background.
  std::uint64_t compression_time = 0;  ///< Of chunks in the background.
  std::array<std::uint64_t, causes> waited{};
  std::uint64_t writes = 0;  ///< Transfers to files; what was appended to one that waited is part of it.
  std::uint64_t bytes_copied = 0;
  std::uint64_t bytes_promised = 0;
  std::uint64_t bytes_from_pending = 0;  ///< Read from what was not yet in its file.
  std::uint64_t bytes_read_ahead = 0;    ///< Read by the program out of what had been fetched before it asked.
  std::uint64_t bytes_fetched = 0;       ///< Fetched before the program asked.
  std::uint64_t chunks_compressed = 0;   ///< In the background.
  std::uint64_t chunks_compressed_by_program = 0;   ///< Of files that have such in the background.
  std::map<std::string, std::uint64_t> foreground;  ///< Transfers during which the program waited, by reason.

  void print() const;
};

}  // namespace dovetail::hdf5
