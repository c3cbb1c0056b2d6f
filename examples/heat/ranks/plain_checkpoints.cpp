#include "plain_checkpoints.hpp"

#include <mpi.h>

#include <utility>

#include "checkpoint_writer.hpp"
#include "hash.hpp"

namespace heat {

PlainCheckpoints::PlainCheckpoints(const Ranks& ranks, const Part& part, const Field& field, Meter& meter,
                                   std::string directory, const std::vector<std::size_t>& slot_order,
                                   dovetail::Direct direct)
    : ranks_(ranks),
      part_(part),
      field_(field),
      io_(IoKind::plain, meter),
      directory_(std::move(directory)),
      layout_(part.whole),
      slots_(open_slots(directory_, slot_order, direct, part.whole, ranks.is_first())),
      partial_(open_partial(directory_, direct, ranks.is_first())) {}

void PlainCheckpoints::write_checkpoint(std::uint64_t step) {
  write(slots_[committed_count_ % slots_.size()], step);
  committed_step_ = step;
  ++committed_count_;
}

void PlainCheckpoints::write_final(std::uint64_t step) {
  final_checksum_ = write(partial_, step);
  if (ranks_.is_first()) {
    publish_partial(directory_);
  }
}

std::uint64_t PlainCheckpoints::write(const dovetail::File& file, std::uint64_t step) {
  CheckpointInfo info{State::being_written, step, part_.whole, 0};
  AlignedBuffer header(page);
  if (ranks_.is_first()) {
    io_.reserve(file, layout_.total_bytes);
    encode_header(info, header.bytes());
    io_.write(file, header.bytes(), 0);
  }
  ranks_.barrier();

  std::vector<std::uint64_t> hashes;
  for (const Block& block : field_.blocks()) {
    hashes.push_back(hash_bytes(field_.bytes(block)));
    io_.write(file, field_.bytes(block), layout_.data_offset + part_.offset() + block.offset);
  }
  io_.sync(file);

  AlignedBuffer table(layout_.table_bytes);
  std::vector<int> counts;
  std::vector<int> places;
  for (int rank = 0; rank < ranks_.count(); ++rank) {
    const Part part =
        Part::of_rank(part_.whole, static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks_.count()));
    counts.push_back(static_cast<int>(part.blocks()));
    places.push_back(static_cast<int>(part.first_block()));
  }
  MPI_Gatherv(hashes.data(), static_cast<int>(hashes.size()), MPI_UINT64_T, table.data(), counts.data(), places.data(),
              MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (ranks_.is_first()) {
    info.table_hash = hash_bytes(table.bytes().first(part_.whole.blocks() * sizeof(std::uint64_t)));
    io_.write(file, table.bytes(), layout_.table_offset);
    io_.sync(file);
    info.state = State::complete;
    encode_header(info, header.bytes());
    io_.write(file, header.bytes(), 0);
    io_.sync(file);
  }
  return info.table_hash;
}

}  // namespace heat
