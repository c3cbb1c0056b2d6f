#include "prefetch/block_cache.hpp"

#include <algorithm>

namespace dovetail::prefetching {
namespace {

// Of a block, those that are part of the file's part.
std::uint64_t bytes_of(std::uint64_t block, Range part, const BlockCache::Sizes& sizes) noexcept {
  const std::uint64_t begin = std::max(block * sizes.block_bytes, part.offset);
  const std::uint64_t end = std::min((block + 1) * sizes.block_bytes, part.end);
  return end - std::min(begin, end);
}

}  // namespace

void BlockCache::note(Range read, std::uint64_t reader, Range part, const Sizes& sizes) noexcept {
  read = {std::max(read.offset, part.offset), std::min(read.end, part.end)};
  if (read.offset >= read.end || sizes.block_bytes == 0 || held_.exchange(1, std::memory_order_acquire) != 0) {
    return;
  }
  note_held(read, reader, part, sizes);
  held_.store(0, std::memory_order_release);
}

void BlockCache::note_held(Range read, std::uint64_t reader, Range part, const Sizes& sizes) noexcept {
  ++turn_;
  const std::uint64_t bytes = sizes.block_bytes;
  const std::uint32_t most = std::clamp(sizes.cache_blocks, 1U, most_of_a_reader);
  const std::uint64_t last = (read.end - 1) / bytes;
  // Of a read that is longer than all that is kept, the end is what the next one goes on from.
  const std::uint64_t first = std::max(read.offset / bytes, last - std::min<std::uint64_t>(last, most - 1));
  const std::uint64_t ahead = first + std::min(sizes.ahead_blocks, most);
  const std::uint64_t end = std::max(last + 1, std::min(ahead, (part.end - 1) / bytes + 1));
  count({first, last + 1});
  const std::uint32_t bit = bit_of(reader, last, bytes);

  Range pending{0, 0};
  for (std::uint64_t number = first; number < end; ++number) {
    Block* block = find(number);
    block = block != nullptr ? block : add(number, part, sizes, pending);
    if (block == nullptr) {
      break;  // it is asked for by one of the next reads
    }
    block->holders |= bit;
    block->touched = turn_;
    if (number <= last && (block->key.fetch_or(flag_read, std::memory_order_relaxed) & flag_read) == 0 &&
        sizes.ahead_blocks != 0) {
      counts_.unread.fetch_sub(bytes_of(number, part, sizes), std::memory_order_relaxed);
    }
  }
  if (pending.end != 0) {
    wanted_.push(pending);
  }
  trim(bit, most, bytes);
}

BlockCache::Block* BlockCache::add(std::uint64_t number, Range part, const Sizes& sizes, Range& pending) noexcept {
  const std::uint64_t bytes = sizes.block_bytes;
  const Range whole{number * bytes, (number + 1) * bytes};
  const Range range{std::max(whole.offset, part.offset), std::min(whole.end, part.end)};
  const bool is_whole = range.offset == whole.offset && (range.end == whole.end || range.end == sizes.file_bytes);
  std::uint64_t key = (number + 1) << flag_bits | (is_whole ? 0 : flag_partial);
  std::uint32_t asked_as = wanted_.next() - decltype(wanted_)::most;  // not asked for
  if (sizes.ahead_blocks == 0) {
    key |= flag_brought;  // by the program itself: it goes once it was read
  } else {
    // Room for what is pending and for this.
    if (wanted_.waiting() + 2 > decltype(wanted_)::most) {
      return nullptr;
    }
    const bool follows = pending.end == range.offset;
    if (pending.end != 0 && !follows) {
      wanted_.push(pending);
    }
    pending = {pending.end != 0 && follows ? pending.offset : range.offset, range.end};
    counts_.unread.fetch_add(bytes_of(number, part, sizes), std::memory_order_relaxed);
    asked_as = wanted_.next();
  }
  Block& block = room(sizes);
  block.key.store(key, std::memory_order_relaxed);
  block.holders = 0;
  block.asked_as = asked_as;
  return &block;
}

void BlockCache::count(Range blocks) noexcept {
  counts_.reads.fetch_add(1, std::memory_order_relaxed);
  bool is_late = false;
  for (std::uint64_t number = blocks.offset; number < blocks.end; ++number) {
    const Block* block = find(number);
    if (block == nullptr) {
      return;
    }
    is_late = is_late || wanted_.waits(block->asked_as);
  }
  (is_late ? counts_.late : counts_.hits).fetch_add(1, std::memory_order_relaxed);
}

BlockCache::Block* BlockCache::find(std::uint64_t number) noexcept {
  auto* found = std::find_if(blocks_.begin(), blocks_.end(),
                             [number](const Block& block) { return block.is_used() && block.number() == number; });
  return found == blocks_.end() ? nullptr : found;
}

std::uint32_t BlockCache::bit_of(std::uint64_t reader, std::uint64_t at, std::uint64_t block_bytes) noexcept {
  std::uint32_t oldest = 0;
  for (std::uint32_t number = 0; number < most_readers; ++number) {
    Reader& known = readers_[number];
    if (known.is_known != 0 && known.id == reader) {
      known.last_block = at;
      known.last_turn = turn_;
      return 1U << number;
    }
    const auto age_of = [this](const Reader& of) { return of.is_known == 0 ? UINT32_MAX : turn_ - of.last_turn; };
    oldest = age_of(known) > age_of(readers_[oldest]) ? number : oldest;
  }
  const std::uint32_t bit = 1U << oldest;
  for (Block& block : blocks_) {
    let_go(block, bit, block_bytes);
  }
  readers_[oldest] = {reader, at, turn_, 1};
  return bit;
}

bool BlockCache::is_expected(std::uint64_t number) const noexcept {
  return std::any_of(readers_.begin(), readers_.end(), [&](const Reader& reader) {
    return reader.is_known != 0 && reader.last_block < number && turn_ - reader.last_turn < lately;
  });
}

BlockCache::Block& BlockCache::room(const Sizes& sizes) noexcept {
  const std::uint32_t most = std::clamp(sizes.file_blocks, 1U, most_blocks);
  // Others may write into the memory: no more rounds than there are blocks.
  for (std::uint32_t round = 0; round < most_blocks; ++round) {
    Block* free = nullptr;
    Block* oldest = nullptr;
    std::uint32_t used = 0;
    for (Block& block : blocks_) {
      if (!block.is_used()) {
        free = &block;
      } else {
        ++used;
        oldest = oldest == nullptr || age(block) > age(*oldest) ? &block : oldest;
      }
    }
    if (free != nullptr && used < most) {
      return *free;
    }
    drop(*oldest, sizes.block_bytes);
  }
  return blocks_.front();
}

void BlockCache::trim(std::uint32_t bit, std::uint32_t most, std::uint64_t block_bytes) noexcept {
  for (std::uint32_t count = 0; count < most_blocks; ++count) {
    Block* oldest = nullptr;
    std::uint32_t held = 0;
    for (Block& block : blocks_) {
      if (block.is_used() && (block.holders & bit) != 0) {
        ++held;
        // Of those that are equally old, what lies behind goes first.
        const bool is_older = oldest == nullptr || age(block) > age(*oldest) ||
                              (age(block) == age(*oldest) && block.number() < oldest->number());
        oldest = is_older ? &block : oldest;
      }
    }
    if (held <= most) {
      return;
    }
    let_go(*oldest, bit, block_bytes);
  }
}

void BlockCache::let_go(Block& block, std::uint32_t bit, std::uint64_t block_bytes) noexcept {
  if (block.is_used() && (block.holders & bit) != 0) {
    block.holders &= ~bit;
    if (block.holders == 0 && !is_expected(block.number())) {
      drop(block, block_bytes);
    }
  }
}

void BlockCache::drop(Block& block, std::uint64_t block_bytes) noexcept {
  const std::uint64_t number = block.number();
  const std::uint64_t key = block.key.exchange(0, std::memory_order_relaxed);
  if ((key & (flag_brought | flag_partial)) == flag_brought) {
    // What finds no room stays until the system needs the memory.
    released_.push({number * block_bytes, (number + 1) * block_bytes});
  }
}

void BlockCache::brought(std::uint64_t number) noexcept {
  if (Block* block = find(number)) {
    std::uint64_t key = block->key.load(std::memory_order_relaxed);
    while (key >> flag_bits == number + 1 &&
           !block->key.compare_exchange_weak(key, key | flag_brought, std::memory_order_relaxed)) {
    }
  }
}

void BlockCache::forget() noexcept {
  if (held_.exchange(1, std::memory_order_acquire) == 0) {
    reset();
  }
}

void BlockCache::reset() noexcept {
  held_.store(1, std::memory_order_relaxed);
  for (Block& block : blocks_) {
    block.key.store(0, std::memory_order_relaxed);
  }
  wanted_.clear();
  released_.clear();
  held_.store(0, std::memory_order_release);
}

}  // namespace dovetail::prefetching
