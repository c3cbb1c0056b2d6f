// Which blocks of a file are kept in the page cache for programs that read it by the rules of a configuration: the block cache of Mercury
// (G. Congiu, section 3.2.2). It lies in memory that several processes share: no allocation, no pointer, no lock that is waited for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "prefetch/range_queue.hpp"
#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

/// The blocks are those of all processes: what one has asked for is there for the others. Each reader holds its `cache_blocks` most recent ones; what was
/// not touched for longest goes first. A block is released when no reader holds it any more and none is on its way to it: a fast one takes nothing from a slow one. Only the
/// `most_readers` latest readers hold blocks, and all of them together `most_blocks`: beyond that the oldest go. All bytes zero is the cache of a file that was not read yet.
class BlockCache {
 public:
  static constexpr std::uint32_t most_of_a_reader = 128;
  static constexpr std::uint32_t most_readers = 32;
  static constexpr std::uint32_t most_blocks = 230;
  struct Sizes {
    std::uint64_t block_bytes;
    std::uint64_t file_bytes;
    std::uint32_t cache_blocks;               // at most `most_of_a_reader`
    std::uint32_t ahead_blocks;               // that are wanted from the one that is read on; 0: none is read ahead
    std::uint32_t file_blocks = most_blocks;  // of all readers together; at least `cache_blocks`
  };
  struct Counts {
    std::atomic<std::uint64_t> reads;     // that were noted: those that come to another block
    std::atomic<std::uint64_t> hits;      // all their blocks had been asked for
    std::atomic<std::uint64_t> late;      // the same, but the asking still waited for its turn
    std::atomic<std::uint64_t> released;  // bytes
    std::atomic<std::uint64_t> unread;    // bytes that were asked for and that nothing has read
  };

  /// A read of a part of the file that lies within `part`; blocks are asked for up to the end of `part`. `reader`: any number that tells
  /// readers apart. Any thread and any signal handler may call it; one that comes while another is in it changes nothing.
  void note(Range read, std::uint64_t reader, Range part, const Sizes& sizes) noexcept;
  /// The file has another content: nothing is known of it, and nothing is released. Changes nothing while a read is noted.
  void forget() noexcept;
  /// The same when nothing reads the file: also where a process was killed while it noted a read.
  void reset() noexcept;

  bool wants() const noexcept { return !wanted_.empty(); }
  bool has_work() const noexcept { return !wanted_.empty() || !released_.empty(); }
  /// What is to be read ahead next. Any number of threads may call this and what follows, beside `note`. False: nothing is.
  bool take_wanted(Range& range) noexcept { return wanted_.take(range); }
  bool take_released(Range& range) noexcept { return released_.take(range); }
  /// The block was not in the page cache before it was asked for: it may be released.
  void brought(std::uint64_t block) noexcept;
  const Counts& counts() const noexcept { return counts_; }
  void count_released(std::uint64_t bytes) noexcept { counts_.released.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  static constexpr std::uint64_t flag_brought = 1;
  static constexpr std::uint64_t flag_read = 2;
  static constexpr std::uint64_t flag_partial = 4;  // a part of it belongs to others
  static constexpr std::uint32_t flag_bits = 3;
  // Reads of others, to other blocks, after which a reader is not waited for.
  static constexpr std::uint32_t lately = 64;

  struct Block {
    std::atomic<std::uint64_t> key;  // its number and one more, and flags; 0: no block
    std::uint32_t holders;           // a bit for each reader
    std::uint32_t touched;
    std::uint32_t asked_as;  // its number in the queue
    std::uint32_t reserved;

    std::uint64_t number() const noexcept { return (key.load(std::memory_order_relaxed) >> flag_bits) - 1; }
    bool is_used() const noexcept { return key.load(std::memory_order_relaxed) != 0; }
  };

  struct Reader {
    std::uint64_t id;
    std::uint64_t last_block;
    std::uint32_t last_turn;
    std::uint32_t is_known;
  };

  void note_held(Range read, std::uint64_t reader, Range part, const Sizes& sizes) noexcept;
  void count(Range blocks) noexcept;
  // A block that is not known yet, whose bytes are asked for with those of `pending`, or after them. Null: there is no room to ask for it.
  Block* add(std::uint64_t number, Range part, const Sizes& sizes, Range& pending) noexcept;
  Block* find(std::uint64_t number) noexcept;
  std::uint32_t age(const Block& block) const noexcept { return turn_ - block.touched; }
  // The bit of a reader, which is at this block. If there are too many, the one that has not read for longest has ended, or may as well.
  std::uint32_t bit_of(std::uint64_t reader, std::uint64_t at, std::uint64_t block_bytes) noexcept;
  // Whether a reader that has read lately may come to it: it is before it.
  bool is_expected(std::uint64_t number) const noexcept;
  // A place for another block. If there is none, or as many as the file may have, the oldest go.
  Block& room(const Sizes& sizes) noexcept;
  // Leaves so many blocks to the reader.
  void trim(std::uint32_t bit, std::uint32_t most, std::uint64_t block_bytes) noexcept;
  void let_go(Block& block, std::uint32_t bit, std::uint64_t block_bytes) noexcept;
  void drop(Block& block, std::uint64_t block_bytes) noexcept;

  Counts counts_;  // first: the report finds them there
  std::atomic<std::uint32_t> held_;
  std::uint32_t turn_;
  std::array<Reader, most_readers> readers_;
  std::array<Block, most_blocks> blocks_;
  RangeQueue<64> wanted_;
  RangeQueue<32> released_;
};

}  // namespace dovetail::prefetching
