// Recognises where a program reads next in one file that no plan is about. It lies in memory that several processes share: no allocation,
// no pointer, no lock that is waited for.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "prefetch/range_queue.hpp"
#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

/// What is known of a file are regions: reads that lie near each other are one. Two patterns follow from them. Regions of about the same length at
/// about the same distance go on in the same direction: strides, and clusters with steps back in them (Congiu, figure 5.1). A region that grows, with gaps or
/// backward, goes on growing. What is read front to back is neither. All bytes zero is a detector of a file that was not read yet.
class Detector {
 public:
  /// In bytes. `size`: of the file. `window`: that may be asked for and not be read yet. `gap`: that cost less than another request.
  struct Limits {
    std::uint64_t size;
    std::uint64_t window;
    std::uint64_t gap;

    /// What is left of them where so much of the window is used otherwise.
    Limits beside(std::uint64_t used) const noexcept { return {size, window - std::min(window, used), gap}; }
  };
  /// In bytes of guesses, but for `late`: guesses that the program came to before they were taken.
  struct Counts {
    std::atomic<std::uint64_t> used;
    std::atomic<std::uint64_t> wasted;
    std::atomic<std::uint64_t> late;
  };

  /// What may be wasted before the file is left alone for a while, in bytes. As well, this part of what was used may be wasted.
  static constexpr std::uint64_t allowance = 4U << 20;
  static constexpr std::uint64_t part_wasted = 8;
  /// Guesses of no more than this count as requests. So many of these may be wrong before the file is left alone for a while, beside one for each
  /// sixteen that were right.
  static constexpr std::uint64_t smallest_that_counts_bytes = 32U << 10;
  static constexpr std::uint32_t most_wrong = 8;
  static constexpr std::uint32_t part_wrong = 16;
  /// In reads; each is twice as long as the one before.
  static constexpr std::uint32_t first_rest = 512;
  static constexpr std::uint32_t longest_rest = 8192;

  /// What became of a read. `nothing`: another thread is noting one, a process was killed while it did, or the read is behind the end.
  /// `foretold_in_part`: of what comes there the system reads the rest. `no_pattern`: the detector need not be told of the next `rest()` reads.
  enum class Noted { nothing, not_foretold, foretold, foretold_in_part, no_pattern };
  /// Notes a read. Any thread and any signal handler may call it; one that comes while another is in it changes nothing.
  Noted note(std::uint64_t offset, std::uint64_t bytes, const Limits& limits) noexcept;
  /// The file has another content: what was read of it foretells nothing. Changes nothing while a read is noted.
  void forget() noexcept;
  /// Whether there is something to take.
  bool has_advice() const noexcept { return !queue_.empty(); }
  /// What is to be read ahead next. False: nothing is. Any number of threads may call it, beside `note`.
  bool take(Range& range) noexcept { return queue_.take(range); }
  std::uint32_t rest() const noexcept { return rest_.load(std::memory_order_relaxed); }
  /// Bytes of guesses that the program has not come to.
  std::uint64_t outstanding() const noexcept { return outstanding_.load(std::memory_order_relaxed); }
  const Counts& counts() const noexcept { return counts_; }
  Counts& counts() noexcept { return counts_; }

 private:
  static constexpr std::uint32_t most_regions = 48;
  static constexpr std::uint32_t most_series = 8;
  static constexpr std::uint32_t most_guesses = 64;
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint64_t bytes_of_page = 4096;

  struct Region {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t bytes;    // that were read of it
    std::uint32_t born;     // in reads, as all times
    std::uint32_t touched;  // when it was last read
    std::int32_t grown;     // how often in a row upward, or downward (negative), without being read in sequence
    std::uint32_t reserved;
  };
  /// Offsets are along the direction: `seen_from` turns a file that is read backward around.
  struct Series {
    std::uint64_t begin;       // of the region that the program is in
    std::uint64_t length;      // of a region: seldom exceeded; of one that grows: how far it is asked for ahead
    std::uint64_t shortest;    // seldom less
    std::uint64_t gap;         // to the next one: seldom less
    std::uint64_t period;      // from the begin of one to that of the next
    std::uint64_t uneven;      // bytes by which a region lay elsewhere than expected: seldom exceeded
    std::uint64_t guessed_to;  // what lies before needs no guess
    std::uint64_t front;       // of a region that grows
    std::uint32_t touched;
    std::uint32_t ahead;     // regions
    std::int32_t direction;  // 1 or -1; 0: no series
    std::uint32_t grows;

    // How far a region may lie from where it is expected.
    std::uint64_t slack() const noexcept { return std::min(length / part_wasted + bytes_of_page, gap / 4); }
  };
  struct Guess {
    std::uint64_t begin;
    std::uint64_t end;  // 0: no guess
    std::uint64_t low;  // what was read of it lies from here
    std::uint64_t high;
    std::uint32_t series;
    std::uint32_t number;  // in the queue
  };

  // Others can write into the memory at any time: it is limited at each use, and loaded once for each.
  std::uint32_t count() const noexcept { return std::min(count_.load(std::memory_order_relaxed), most_regions); }

  static Range seen_from(Range range, std::int32_t direction) noexcept;
  Noted note_held(Range read, const Limits& limits) noexcept;
  // The region that the read lies in now.
  std::uint32_t place(Range read, std::uint64_t near, bool& fresh) noexcept;
  std::uint32_t make_region(std::uint32_t at, Range read) noexcept;
  void join(std::uint32_t at, std::uint64_t near) noexcept;

  std::uint32_t foretold(Range read, std::uint32_t at) noexcept;
  void go_on(Series& series, std::uint32_t index, std::uint32_t steps, std::uint32_t at) noexcept;
  std::uint32_t recognise(Range read, std::uint32_t at, bool fresh) noexcept;
  bool is_regular(Range read, std::uint32_t at, std::int32_t direction, Series& made) const noexcept;
  bool is_growing(std::uint32_t at, std::int32_t direction, Series& made) const noexcept;
  void drop(std::uint32_t index) noexcept;

  void ask(std::uint32_t index, const Limits& limits) noexcept;
  bool guess(std::uint32_t index, Range along, const Limits& limits, Range& pending) noexcept;
  void touch(Range read) noexcept;
  bool is_small(const Guess& guess) const noexcept;
  void take_off(std::uint64_t bytes) noexcept;
  void retire(Guess& guess) noexcept;
  bool is_wasteful() const noexcept;
  void begin_rest() noexcept;

  Counts counts_;  // first: the report finds them there
  std::atomic<std::uint32_t> held_;
  std::atomic<std::uint32_t> rest_;
  std::uint32_t reads_;
  std::uint32_t idle_;                // reads in a row that no series has foretold
  std::atomic<std::uint32_t> count_;  // of the regions
  std::uint64_t used_;                // since the last rest
  std::uint64_t wasted_;
  std::uint32_t right_;  // since the last rest: reads that lay within a small guess, which spared a request
  std::uint32_t wrong_;  // reads that did so in part only, and guesses that nothing has read: each took a request more
  std::atomic<std::uint64_t> outstanding_;
  std::array<Region, most_regions> regions_;  // in the order of the file; they do not overlap
  std::array<Series, most_series> series_;
  std::array<Guess, most_guesses> guesses_;
  RangeQueue<most_guesses> queue_;  // what is to be asked for
};

}  // namespace dovetail::prefetching
