#include "restart.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "checkpoint_writer.hpp"
#include "failure_report.hpp"
#include "hash.hpp"

namespace heat {
namespace {

using dovetail::in;
using dovetail::out;

std::string step_text(std::uint64_t step) { return "step " + std::to_string(step); }

void judge(Candidate& candidate) {
  // Without waiting: a pipe of this name would be waited for.
  const int descriptor = ::open(candidate.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) {
    if (errno != ENOENT) {
      candidate.reason = std::string("cannot be opened: ") + std::strerror(errno);
    }
    return;
  }
  std::array<std::byte, page> header{};
  struct stat status{};
  const ssize_t count = ::pread(descriptor, header.data(), header.size(), 0);
  const bool failed = ::fstat(descriptor, &status) != 0 || (S_ISREG(status.st_mode) && count < 0);
  const int error = errno;
  ::close(descriptor);
  if (failed) {
    candidate.reason = std::string("cannot be read: ") + std::strerror(error);
    return;
  }
  if (!S_ISREG(status.st_mode)) {
    candidate.reason = "is no regular file";
    return;
  }
  const DecodedHeader decoded = decode_header({header.data(), static_cast<std::size_t>(count)});
  if (!decoded.info) {
    candidate.reason = decoded.reason;
    return;
  }
  if (decoded.info->state == State::unused) {
    return;
  }
  if (decoded.info->state != State::complete) {
    candidate.reason = "not complete: the run ended while " + step_text(decoded.info->step) + " was being written";
    return;
  }
  const std::uint64_t expected = FileLayout(decoded.info->shape).total_bytes;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < expected) {
    candidate.reason = "cut short: " + std::to_string(size) + " of " + std::to_string(expected) + " bytes";
    return;
  }
  candidate.info = decoded.info;
}

void require_fit(const Options& options, const CheckpointInfo& info, const std::string& path) {
  const Shape& shape = info.shape;
  if (options.size && (options.size->rows != shape.rows || options.size->columns != shape.columns)) {
    throw BadInput(path + ": holds " + std::to_string(shape.rows) + " x " + std::to_string(shape.columns) +
                   " cells, and --size asks for another size: leave --size out");
  }
  if (options.block && *options.block != shape.block) {
    throw BadInput(path + ": has blocks of " + std::to_string(shape.block) +
                   " cells, and --block asks for others: leave --block out");
  }
  if (info.step > options.steps) {
    throw BadInput(path + ": is at " + step_text(info.step) + " already, and --steps asks for " +
                   std::to_string(options.steps) + " in all");
  }
}

}  // namespace

std::vector<Candidate> survey(const std::string& directory) {
  std::vector<Candidate> candidates;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    candidates.push_back({slot_path(directory, slot), slot, {}, {}});
  }
  candidates.push_back({final_path(directory), {}, {}, {}});
  std::ranges::for_each(candidates, judge);
  std::ranges::stable_sort(candidates, std::greater<>(),
                           [](const Candidate& candidate) { return candidate.info ? candidate.info->step + 1 : 0; });
  return candidates;
}

void require_nothing_complete(const std::vector<Candidate>& candidates) {
  for (const Candidate& candidate : candidates) {
    if (candidate.info) {
      throw BadInput(candidate.path + ": is there already, complete, of step " + std::to_string(candidate.info->step) +
                     ": continue with --restart, remove it, or choose another --directory");
    }
  }
}

std::vector<std::size_t> overwriting_order(const std::vector<Candidate>& candidates) {
  std::vector<std::pair<std::uint64_t, std::size_t>> ranked;
  for (const Candidate& candidate : candidates) {
    if (candidate.slot) {
      ranked.emplace_back(candidate.info ? candidate.info->step + 1 : 0, *candidate.slot);
    }
  }
  std::ranges::sort(ranked);
  std::vector<std::size_t> order;
  for (const auto& [rank, slot] : ranked) {
    order.push_back(slot);
  }
  return order;
}

std::optional<Restored> load(dovetail::Runtime& runtime, const BlockIo& io, dovetail::Direct direct,
                             const Candidate& candidate, std::string& reason, const PartOf& part_of) {
  const CheckpointInfo& info = *candidate.info;
  const FileLayout places(info.shape);
  try {
    const dovetail::File file = dovetail::File::open(candidate.path, O_RDONLY, {.direct = direct});
    AlignedBuffer table(places.table_bytes);
    const Part part = part_of(info.shape);
    Restored restored{Field(part.shape()), part, info.step, candidate.path};
    const std::span<const Block> blocks = restored.field.blocks();
    const std::span<const std::uint64_t> all_hashes(reinterpret_cast<const std::uint64_t*>(table.data()),
                                                    info.shape.blocks());
    const std::span<const std::uint64_t> hashes = all_hashes.subspan(part.first_block(), part.blocks());
    const std::uint64_t data_offset = places.data_offset + part.offset();
    std::vector<char> sound(blocks.size(), 0);

    runtime.spawn({.label = "read of the table", .access = {out(table.bytes())}},
                  [&] { io.read(file, table.bytes(), places.table_offset); });
    runtime.spawn({.label = "end of the table", .access = {in(table.bytes())}}, [&] { io.ended(0); });
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& block = blocks[i];
      const std::span<std::byte> bytes = restored.field.bytes(block);
      runtime.spawn({.label = "read of a block", .access = {out(bytes)}},
                    [&, bytes] { io.read(file, bytes, data_offset + block.offset); });
      runtime.spawn({.label = "check of a block", .access = {in(bytes), in(table.bytes()), out(sound[i])}},
                    [&, bytes, i] {
                      io.ended(0);
                      sound[i] = hash_bytes(bytes) == hashes[i] ? 1 : 0;
                    });
    }
    runtime.wait();

    if (hash_bytes(std::as_bytes(all_hashes)) != info.table_hash) {
      reason = "damaged: the table of hashes at offset " + std::to_string(places.table_offset) +
               " does not match its own hash";
      return {};
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (sound[i] == 0) {
        reason = "damaged: block (" + std::to_string(part.first + blocks[i].row) + "," +
                 std::to_string(blocks[i].column) + ") at offset " + std::to_string(data_offset + blocks[i].offset) +
                 " does not match its hash";
        return {};
      }
    }
    return restored;
  } catch (const dovetail::IoError& error) {
    reason = std::string("cannot be read: ") + error.what();
  } catch (const dovetail::TaskFailed& error) {
    drain(runtime);
    reason = "cannot be read: " + root_cause(error).text;
  }
  return {};
}

Restored restart(dovetail::Runtime& runtime, const BlockIo& io, const Options& options,
                 std::vector<Candidate>& candidates, const Together& together) {
  for (const Candidate& candidate : candidates) {
    if (together.tells && !candidate.info && !candidate.reason.empty()) {
      std::fprintf(stderr, "heat: %s: %s\n", candidate.path.c_str(), candidate.reason.c_str());
    }
  }
  for (Candidate& candidate : candidates) {
    if (!candidate.info) {
      continue;
    }
    require_fit(options, *candidate.info, candidate.path);
    auto restored = load(runtime, io, options.direct, candidate, candidate.reason, together.part);
    if (together.all(restored.has_value())) {
      return std::move(*restored);
    }
    // A part that is damaged is told by the process that has it.
    if (!restored) {
      std::fprintf(stderr, "heat: %s (%s): %s\n", candidate.path.c_str(), step_text(candidate.info->step).c_str(),
                   candidate.reason.c_str());
    }
    candidate.info.reset();
  }
  throw BadInput(options.directory + ": holds no complete checkpoint to restart from; begin again with --field");
}

}  // namespace heat
