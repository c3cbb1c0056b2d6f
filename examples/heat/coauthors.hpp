/// @file
/// What processes that write one checkpoint together say to each other. The checkpoint's tasks call it; how the words get there is not theirs to know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heat {

/// The ranks that write one file, each its part. Rank 0 writes the header and the table, too. A function that expects something is called in
/// a task's `onready`, and delays the body until it has come; the others are called in bodies. None suspends. From any thread.
class Coauthors {
 public:
  virtual ~Coauthors() = default;
  virtual std::size_t rank() const = 0;   ///< Of this process.
  virtual std::size_t count() const = 0;  ///< Of all of them.

  /// Rank 0 tells another rank that the file may be written.
  virtual void allow(std::size_t rank) = 0;
  /// Another rank waits to be told so.
  virtual void expect_permission() = 0;
  /// Another rank tells rank 0 that its part is on disk, and the hashes of its blocks.
  virtual void send_hashes(std::span<const std::uint64_t> hashes) = 0;
  /// Rank 0 waits for the hashes of a rank, whose place they have from now on until `take_hashes` has returned.
  virtual void expect_hashes(std::size_t rank, std::span<std::uint64_t> place) = 0;
  /// They have come: now they are at their place.
  virtual void take_hashes(std::size_t rank, std::span<std::uint64_t> place) = 0;
};

}  // namespace heat
