#include "prefetch/pattern.hpp"

#include <algorithm>
#include <utility>

namespace dovetail::prefetching {
namespace {

// Reads that are further apart in time than this belong to different steps.
constexpr std::uint64_t pause = 1'000'000;
// What lies between the data that a program reads: a library's own, say.
constexpr std::uint64_t largest_gap = std::uint64_t{1} << 20;
constexpr unsigned hits_that_show_a_pattern = 2;
constexpr std::size_t smallest_guess = std::size_t{128} << 10;
constexpr std::size_t most_guesses = 512;

}  // namespace

// The stream that the range continues, or a new one in place of that which has not been used for longest.
std::size_t Pattern::find(base::ByteRange range, const Passed& passed) {
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    Stream& stream = streams_[i];
    const bool near = stream.length != 0 && range.offset >= stream.end && range.offset - stream.end <= largest_gap;
    const bool regular =
        stream.length == range.length && stream.stride != 0 && range.offset == stream.last + stream.stride;
    const bool second = stream.length == range.length && stream.hits == 0 && range.offset > stream.end;
    if (near || regular || second) {
      ++stream.hits;
      stream.stride = near ? 0 : range.offset - stream.last;
      return i;
    }
    if (stream.used < streams_[oldest].used) {
      oldest = i;
    }
  }
  passed(oldest, UINT64_MAX);
  streams_[oldest] = Stream{};
  return oldest;
}

bool Pattern::note(base::ByteRange range, std::uint64_t begun, std::uint64_t ended, const Passed& passed) {
  if (range.length == 0) {
    return false;
  }
  if (last_time_ != 0 && begun > last_time_ + pause) {
    last_burst_ = std::exchange(burst_, 0);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      streams_[i].last_burst = std::exchange(streams_[i].burst, 0);
      // Only now: a library's own data of a step lies in front of the program's, and is read in turn with it.
      passed(i, streams_[i].end);
    }
  }
  last_time_ = ended;
  Stream& stream = streams_[find(range, passed)];
  burst_ += range.length;
  stream.burst += range.length;
  stream.last = range.offset;
  stream.end = range.end();
  stream.length = range.length;
  stream.used = ++reads_;
  return last_burst_ != 0 && burst_ >= last_burst_ - last_burst_ / 8;
}

std::vector<Pattern::Guess> Pattern::next(std::uint64_t size, std::uint64_t most) const {
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    const Stream& stream = streams_[i];
    if (stream.hits < hits_that_show_a_pattern || stream.last_burst == 0 || stream.burst == 0) {
      continue;
    }
    const std::uint64_t amount = std::min<std::uint64_t>(std::max(stream.burst, stream.last_burst), most);
    if (stream.stride == 0) {
      guess_sequence(i, size, amount, guesses);
    } else if (stream.length <= largest_guess) {
      guess_strides(i, size, amount, guesses);
    }
  }
  return guesses;
}

// A little more than the step had, for what lies between; in pieces that leave little of it out.
void Pattern::guess_sequence(std::size_t index, std::uint64_t size, std::uint64_t most,
                             std::vector<Guess>& guesses) const {
  const Stream& stream = streams_[index];
  const std::size_t largest =
      std::clamp<std::size_t>(static_cast<std::size_t>(most / 16), smallest_guess, largest_guess);
  const std::uint64_t end = std::min(stream.end + most + largest, size);
  for (std::uint64_t at = std::max(stream.guessed_to, stream.end); at < end;) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(largest, end - at));
    // Whole pieces only, save at the end: many short ones would be many short reads.
    if (length < largest && end != size && at != stream.end) {
      break;
    }
    guesses.push_back({index, {at, length}});
    at += length;
  }
}

void Pattern::guess_strides(std::size_t index, std::uint64_t size, std::uint64_t most,
                            std::vector<Guess>& guesses) const {
  const Stream& stream = streams_[index];
  // Every read of the rest of the step comes here: what has been guessed is not gone through again.
  const std::uint64_t first =
      stream.guessed_to > stream.last ? (stream.guessed_to - stream.last + stream.stride - 1) / stream.stride : 1;
  for (std::uint64_t step = first; step * stream.length <= most && guesses.size() < most_guesses; ++step) {
    const base::ByteRange range{stream.last + step * stream.stride, stream.length};
    if (range.end() > size) {
      break;
    }
    guesses.push_back({index, range});
  }
}

}  // namespace dovetail::prefetching
