// Recognises that a program reads the same places of one file again, in the order in which it has read them before. It lies in memory that several
// processes share: no allocation, no pointer, no lock that is waited for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "prefetch/detector.hpp"
#include "prefetch/range_queue.hpp"
#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

/// Keeps the places in the order in which they were read first. When reads follow that order again, the places behind them are asked for. A place is where
/// the program has gone to, and what it has read from there in sequence. All bytes zero is one of a file that was not read yet.
class Repetition {
 public:
  /// Places that are kept of a file. Of a longer sequence the first ones are.
  static constexpr std::uint32_t most_places = 8192;
  /// What is asked for of one place: of what follows in sequence the system reads the rest.
  static constexpr std::uint64_t most_of_place = 1U << 20;

  /// Notes a read that no pattern has foretold. `counts` gets what is known of guesses then. @returns whether the sequence has foretold it.
  /// Any thread and any signal handler may call it; one that comes while another is in it changes nothing.
  bool note(std::uint64_t offset, std::uint64_t bytes, const Detector::Limits& limits,
            Detector::Counts& counts) noexcept;
  /// The file has another content. Changes nothing while a read is noted.
  void forget(Detector::Counts& counts) noexcept;
  /// Whether it rests from a time in which nothing came again. Counts the read that asks, which need not be noted then.
  bool rests() noexcept {
    const std::uint32_t left = rest_.load(std::memory_order_relaxed);
    if (left != 0) {
      rest_.store(left - 1, std::memory_order_relaxed);
    }
    return left != 0;
  }
  bool has_advice() const noexcept { return !queue_.empty(); }
  /// Takes what is to be read ahead next: up to `most` ranges, sorted, those joined between which a gap of at most `gap` bytes lies. @returns how many.
  /// Any number of threads may call it, beside `note`.
  std::uint32_t take(Range* ranges, std::uint32_t most, std::uint64_t gap) noexcept;
  /// Bytes of guesses that the program has not come to.
  std::uint64_t outstanding() const noexcept { return outstanding_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t most_guesses = 1024;
  static constexpr std::uint64_t bytes_of_page = 4096;
  static constexpr std::uint64_t largest_file = bytes_of_page << 32;
  static constexpr std::uint32_t none = UINT32_MAX;
  // A read in the order speaks for it, another against it.
  static constexpr std::uint32_t for_it = 2;
  static constexpr std::uint32_t points_enough = 12;
  // Among few places, reads in any order would be near each other.
  static constexpr std::uint32_t part_near = 64;
  static constexpr std::uint32_t most_strayed = 8;
  // Places between the expected one and one that still counts: readers that take turns seldom keep their order.
  static constexpr std::uint32_t farthest = 8;
  // Many, since sorted they lie near each other.
  static constexpr std::uint32_t most_ahead = most_guesses;
  // Places that nothing follows make room for others after so many reads, and a rest: what reads cost that nothing follows is bounded.
  static constexpr std::uint32_t reads_of_each = 2;
  static constexpr std::uint32_t least_reads = 512;
  static constexpr std::uint32_t rest_from_nothing = 8192;
  static constexpr std::uint32_t longest_rest = 65536;

  struct Place {
    std::uint32_t page;
    std::uint16_t pages;
    std::uint16_t asked;  // for, and neither read since nor given up
  };

  // Others can write into the memory at any time: it is limited at each use, and loaded once for each.
  std::uint32_t count() const noexcept;
  std::uint16_t& latest(std::uint64_t page) noexcept;
  std::uint32_t find(std::uint64_t page) noexcept;
  // How far a place may lie from the one that is expected.
  std::uint32_t near() const noexcept;
  bool note_held(Range pages, const Detector::Limits& limits, Detector::Counts& counts) noexcept;
  static std::uint16_t pages_of_place(std::uint64_t pages) noexcept;
  void append(std::uint32_t number, Range pages) noexcept;
  void consider(std::uint32_t number, Detector::Counts& counts) noexcept;
  void come_to(std::uint32_t number, Detector::Counts& counts) noexcept;
  void stray(Detector::Counts& counts) noexcept;
  void lose(Detector::Counts& counts) noexcept;
  // All places before `end` are decided.
  void judge(std::uint32_t end, Detector::Counts& counts) noexcept;
  void ask(const Detector::Limits& limits) noexcept;
  void empty(Detector::Counts& counts) noexcept;
  void begin_rest(std::uint32_t least, Detector::Counts& counts) noexcept;
  static std::uint64_t asked_bytes(const Place& place) noexcept;
  // What was asked for there is not under way any more. It counts in what was used, or in what was wasted.
  void decide(Place& place, std::uint64_t& bytes, std::uint32_t& small_ones,
              std::atomic<std::uint64_t>& counted) noexcept;

  std::atomic<std::uint32_t> held_;
  std::atomic<std::uint32_t> count_;
  std::uint64_t last_end_;         // page behind the last read
  std::uint32_t in_last_;          // the last read lies in the place that was put in last
  std::uint32_t known_to_follow_;  // the last read that was not in sequence was foretold
  std::uint32_t candidate_;        // the place that reads may have come to, and what speaks for that
  std::uint32_t points_;
  std::uint32_t follows_;  // whether reads follow the order: the place that they have come to is
  std::uint32_t cursor_;
  std::uint32_t right_in_a_row_;  // places since it follows
  std::uint32_t strayed_;
  std::uint32_t judged_to_;
  std::uint32_t asked_to_;
  std::uint32_t idle_;               // reads of places that it had, or had no room for, since one was foretold
  std::atomic<std::uint32_t> rest_;  // reads that are not looked at
  std::uint32_t last_rest_;
  // Since the last rest. `right_` and `wrong_` count small guesses, of which each takes a request.
  std::uint32_t right_;
  std::uint32_t wrong_;
  std::uint64_t used_;
  std::uint64_t wasted_;
  std::atomic<std::uint64_t> outstanding_;
  std::atomic<std::uint64_t> room_;  // bytes of gaps that are read at a time
  std::array<Place, most_places> places_;
  std::array<std::uint16_t, 2 * most_places>
      latest_;  // by page: the place with that beginning, plus one; it may be another's
  RangeQueue<most_guesses> queue_;
};

}  // namespace dovetail::prefetching
