#include "prefetch/read_ahead.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "base/claim.hpp"
#include "base/clock.hpp"
#include "dovetail/file.hpp"
#include "prefetch/inside_counts.hpp"
#include "tasking/background.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::size_t most_blocks = 512;

}  // namespace

/// Bytes that a task fetches. The task reads into the memory if it takes the claim first. If a thread of the program does, they are not fetched.
struct ReadAhead::Block {
  base::MemoryShare share;
  std::unique_ptr<std::byte[]> memory;
  std::size_t capacity = 0;
  base::ByteRange range;
  std::size_t stream = 0;
  bool whole = false;  // all of it has been fetched
  base::Claim claim;
};

ReadAhead::ReadAhead(int descriptor, const base::LastingBudget& memory, Statistics& statistics)
    : descriptor_(descriptor),
      memory_(memory),
      statistics_(statistics),
      version_(FileVersion::of(descriptor)),
      version_since_(base::nanoseconds()) {}

ReadAhead::~ReadAhead() {
  stop();
  for (const auto& block : fetched_) {
    block->claim.wait();
  }
}

// Whether it is the known one. If not, nothing that was fetched is good any more.
bool ReadAhead::note_version(const FileVersion& version) noexcept {
  if (version == version_) {
    return true;
  }
  version_ = version;
  version_since_ = base::nanoseconds();
  forget({0, SIZE_MAX});
  return false;
}

std::size_t ReadAhead::serve(base::ByteRange range, std::byte* target) {
  if (blocks_.empty() || !note_version(FileVersion::of(descriptor_))) {
    return 0;
  }
  std::size_t copied = 0;
  std::uint64_t waited = 0;
  while (copied < range.length && !blocks_.empty()) {
    const std::uint64_t at = range.offset + copied;
    auto found = blocks_.upper_bound(at);
    if (found == blocks_.begin()) {
      break;
    }
    --found;
    Block& block = *found->second;
    if (block.range.end() <= at) {
      break;
    }
    if (block.claim.take()) {
      block.claim.end();  // no task has begun: the program is faster itself
      drop(found);
      break;
    }
    if (!block.claim.ended()) {
      const base::Overlap::Wait waiting(statistics_.overlap);
      const std::uint64_t begin = base::nanoseconds();
      block.claim.wait();
      waited += base::nanoseconds() - begin;
    }
    if (!block.whole) {
      break;
    }
    const auto skipped = static_cast<std::size_t>(at - block.range.offset);
    const std::size_t bytes = std::min(block.range.length - skipped, range.length - copied);
    std::memcpy(target + copied, block.memory.get() + skipped, bytes);
    copied += bytes;
  }
  statistics_.waited += waited;
  statistics_.bytes_used += copied;
  if (copied != 0) {
    WayCounts& counts = counts_of(Way::steps);
    counts.unread.fetch_sub(copied, std::memory_order_relaxed);
    counts.reads.reads.fetch_add(1, std::memory_order_relaxed);
    counts.reads.waited.fetch_add(waited != 0 ? 1 : 0, std::memory_order_relaxed);
    counts.reads.nanoseconds.fetch_add(waited, std::memory_order_relaxed);
  }
  return copied;
}

void ReadAhead::follow(base::ByteRange range, std::uint64_t size, std::uint64_t begun) {
  const auto passed = [this](std::size_t stream, std::uint64_t end) { drop_passed(stream, end); };
  if (stopped_ || !pattern_.note(range, begun, base::nanoseconds(), passed)) {
    return;
  }
  // A change that is so recent that the next one might have its time could not be seen.
  if (!note_version(FileVersion::of(descriptor_)) || base::nanoseconds() - version_since_ < version_.granularity()) {
    return;
  }
  for (const Pattern::Guess& guess : pattern_.next(size, memory_.part.limit())) {
    if (!fetch(guess)) {
      return;
    }
  }
}

// Null: there is no memory.
std::shared_ptr<ReadAhead::Block> ReadAhead::new_block(std::size_t length) {
  auto block = std::make_shared<Block>();
  // What was dropped while a task read into it is used no more, and its memory is given back with it.
  const auto fits = std::ranges::find_if(spare_, [&](const auto& spare) { return spare->capacity >= length; });
  if (fits != spare_.end()) {
    block->share = std::move((*fits)->share);
    block->memory = std::move((*fits)->memory);
    block->capacity = (*fits)->capacity;
    spare_.erase(fits);
    return block;
  }
  spare_.clear();
  auto share = base::MemoryShare::of(memory_, length);
  if (!share) {
    return nullptr;
  }
  block->share = std::move(*share);
  block->memory.reset(new (std::nothrow) std::byte[length]);
  block->capacity = length;
  return block->memory != nullptr ? block : nullptr;
}

bool ReadAhead::fetch(const Pattern::Guess& guess) {
  const auto behind = blocks_.lower_bound(guess.range.offset);
  const bool overlaps = (behind != blocks_.end() && behind->second->range.overlaps(guess.range)) ||
                        (behind != blocks_.begin() && std::prev(behind)->second->range.overlaps(guess.range));
  if (overlaps || blocks_.size() >= most_blocks) {
    return false;
  }
  const std::shared_ptr<Block> block = new_block(guess.range.length);
  if (block == nullptr) {
    return false;
  }
  block->range = guess.range;
  block->stream = guess.stream;
  const auto read = [block, descriptor = descriptor_, &statistics = statistics_] {
    if (!block->claim.take()) {
      return;
    }
    std::optional<base::Overlap::Work> work(statistics.overlap);
    std::size_t done = 0;
    try {
      done = File::from_descriptor(descriptor)
                 .pread(std::span(block->memory.get(), block->range.length), block->range.offset);
    } catch (const std::exception&) {
      done = 0;  // the program reads it, and is told
    }
    block->whole = done == block->range.length;
    work.reset();
    statistics.bytes_fetched += done;
    counts_of(Way::steps).asked.fetch_add(done, std::memory_order_relaxed);
    counts_of(Way::steps).unread.fetch_add(done, std::memory_order_relaxed);
    block->claim.end();
  };
  if (!tasking::spawn_in_background({.label = "reading ahead", .io = true, .on_failure = ignore_failure}, read)) {
    return false;
  }
  blocks_.emplace(guess.range.offset, block);
  std::erase_if(fetched_, [](const auto& each) { return each->claim.ended(); });
  fetched_.push_back(block);
  pattern_.follow(guess);
  return true;
}

ReadAhead::Blocks::iterator ReadAhead::drop(Blocks::iterator block) noexcept {
  const std::shared_ptr<Block>& dropped = block->second;
  if (dropped->claim.take() || dropped->claim.ended()) {
    dropped->claim.end();
    if (dropped->memory != nullptr && !stopped_) {
      spare_.push_back(dropped);
    }
  }
  return blocks_.erase(block);
}

void ReadAhead::drop_passed(std::size_t stream, std::uint64_t end) noexcept {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const bool passed = block->second->stream == stream && block->second->range.end() <= end;
    block = passed ? drop(block) : std::next(block);
  }
}

void ReadAhead::forget(base::ByteRange range) noexcept {
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    block = range.overlaps(block->second->range) ? drop(block) : std::next(block);
  }
}

void ReadAhead::stop() noexcept {
  stopped_ = true;
  forget({0, SIZE_MAX});
  spare_.clear();
}

}  // namespace dovetail::prefetching
