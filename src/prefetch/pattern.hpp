// Recognises in the reads of one file what will be read next. It knows no file: it is told of ranges and times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/byte_range.hpp"

namespace dovetail::prefetching {

/// A program that reads in steps computes between them. Its reads form streams. Each goes on where it was, with gaps for data that the program does not want,
/// or by a constant stride. Not thread-safe.
class Pattern {
 public:
  /// What a stream will read.
  struct Guess {
    std::size_t stream = 0;
    base::ByteRange range;
  };
  /// Told that what is before `end` of a stream will not be read any more.
  using Passed = std::function<void(std::size_t stream, std::uint64_t end)>;

  static constexpr std::size_t largest_guess = std::size_t{2} << 20;

  /// Notes a read that began and ended at these times, in nanoseconds. Returns whether the reads of this step are over, as far as one can
  /// tell: its own reads would have to wait behind those for the next.
  bool note(base::ByteRange range, std::uint64_t begun, std::uint64_t ended, const Passed& passed);
  /// What the next step will read and has not been guessed yet: as much of each stream as the last step had, at most `most` bytes.
  /// `size`: of the file.
  std::vector<Guess> next(std::uint64_t size, std::uint64_t most) const;
  /// The guess is being fetched.
  void follow(const Guess& guess) noexcept { streams_[guess.stream].guessed_to = guess.range.end(); }

 private:
  struct Stream {
    std::uint64_t last = 0;    // first byte of the last read
    std::uint64_t end = 0;     // behind it
    std::uint64_t stride = 0;  // from each read to the next; 0: they follow each other
    std::size_t length = 0;
    unsigned hits = 0;
    std::uint64_t guessed_to = 0;
    std::uint64_t used = 0;      // when, in reads
    std::size_t burst = 0;       // bytes of this step so far
    std::size_t last_burst = 0;  // bytes of the one before
  };
  std::size_t find(base::ByteRange range, const Passed& passed);
  void guess_sequence(std::size_t index, std::uint64_t size, std::uint64_t most, std::vector<Guess>& guesses) const;
  void guess_strides(std::size_t index, std::uint64_t size, std::uint64_t most, std::vector<Guess>& guesses) const;

  std::array<Stream, 16> streams_{};
  std::uint64_t reads_ = 0;
  std::uint64_t last_time_ = 0;
  std::size_t burst_ = 0;       // bytes of this step so far, over all streams
  std::size_t last_burst_ = 0;  // bytes of the one before
};

}  // namespace dovetail::prefetching
