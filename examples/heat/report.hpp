/// @file
/// What a run prints at its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dovetail/trace.hpp"
#include "field.hpp"
#include "options.hpp"

namespace heat {

/// The numbers of one run. Times in seconds.
struct Report {
  IoKind io = IoKind::pausing;
  bool direct = false;  ///< Whether checkpoints went past the page cache.
  Shape shape;
  std::uint64_t steps = 0;
  std::uint64_t restarted_from = 0;  ///< Step, 0 for a fresh run.
  unsigned workers = 0;
  std::uint64_t checkpoints = 0;       ///< Without the final field.
  std::uint64_t checkpoint_bytes = 0;  ///< Of each.
  std::uint64_t bytes_written = 0;
  double total = 0;    ///< From the first spawn until the final field was durable.
  double compute = 0;  ///< Time that bodies computed, divided by the workers.
  double io_time = 0;  ///< Wall time during which at least one I/O operation was in flight.
  double hidden = 0;   ///< Of it, the time during which at least one body computed.
  std::uint64_t checksum = 0;
  std::optional<dovetail::trace::Summary> trace;

  /// Of `io_time`, the share during which a body computed: as `dovetail::trace::Summary` defines it.
  double hidden_share() const noexcept;
  /// Bytes per second of I/O time.
  double bandwidth() const noexcept;
};

/// As reports show a checksum: 16 digits.
std::string hexadecimal(std::uint64_t value);
/// A few lines for people.
std::string to_text(const Report& report);
/// One JSON object.
std::string to_json(const Report& report);

}  // namespace heat
