/// @file
/// Checkpoints of ranks that have no tasks: all ranks write, and go on when all is on disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "block_io.hpp"
#include "checkpoint_format.hpp"
#include "dovetail/file.hpp"
#include "field.hpp"
#include "part.hpp"
#include "ranks.hpp"

namespace heat {

/// Writes the same files as `CheckpointWriter`, in the same order on disk. The functions are collective. @throws dovetail::IoError
class PlainCheckpoints {
 public:
  /// All live longer. `slot_order`: as `WriterSettings`.
  PlainCheckpoints(const Ranks& ranks, const Part& part, const Field& field, Meter& meter, std::string directory,
                   const std::vector<std::size_t>& slot_order, dovetail::Direct direct);

  void write_checkpoint(std::uint64_t step);
  void write_final(std::uint64_t step);

  std::uint64_t committed_step() const noexcept { return committed_step_; }    ///< Of the last checkpoint; 0: none.
  std::uint64_t committed_count() const noexcept { return committed_count_; }  ///< Without the final field.
  std::uint64_t final_checksum() const noexcept { return final_checksum_; }    ///< Rank 0 knows it, at the end.
  std::uint64_t checkpoint_bytes() const noexcept { return layout_.total_bytes; }
  bool direct() const noexcept { return slots_.front().direct(); }

 private:
  std::uint64_t write(const dovetail::File& file, std::uint64_t step);

  const Ranks& ranks_;
  Part part_;
  const Field& field_;
  BlockIo io_;
  std::string directory_;
  FileLayout layout_;
  std::vector<dovetail::File> slots_;
  dovetail::File partial_;
  std::uint64_t committed_step_ = 0;
  std::uint64_t committed_count_ = 0;
  std::uint64_t final_checksum_ = 0;
};

}  // namespace heat
