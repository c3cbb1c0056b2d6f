#include "prefetch/detector.hpp"

#include <algorithm>
#include <cstdlib>

namespace dovetail::prefetching {
namespace {

// Times that a region must have grown in the same way, and reads within which it must have grown again.
constexpr std::int32_t grown_enough = 8;
constexpr std::uint32_t soon = 16;
constexpr std::uint64_t first_growth = 256U << 10;
// Reads of other places after which a series is over.
constexpr std::uint32_t longest_absence = 64;
// Reads without a pattern before a rest: more than some clusters have.
constexpr std::uint32_t reads_before_a_rest = 256;
constexpr std::uint32_t most_ahead = 32;
// Of regions whose length is not always the same: where they lie is known the less the further ahead.
constexpr std::uint32_t most_ahead_if_uneven = 2;
// Bytes that are read for each that is wanted, at most.
constexpr std::uint64_t most_with_gaps = 4;
// Regions that may be left out at a time.
constexpr std::uint32_t most_steps = 4;

}  // namespace

Range Detector::seen_from(Range range, std::int32_t direction) noexcept {
  return direction > 0 ? range : Range{far_end - range.end, far_end - range.offset};
}

Detector::Noted Detector::note(std::uint64_t offset, std::uint64_t bytes, const Limits& limits) noexcept {
  if (bytes == 0 || limits.size > far_end || offset >= limits.size ||
      held_.exchange(1, std::memory_order_acquire) != 0) {
    return Noted::nothing;
  }
  const std::uint64_t end = bytes > limits.size - offset ? limits.size : offset + bytes;
  const Noted noted = note_held({offset, end}, limits);
  held_.store(0, std::memory_order_release);
  return noted;
}

void Detector::forget() noexcept {
  if (held_.exchange(1, std::memory_order_acquire) == 0) {
    begin_rest();
    rest_.store(0, std::memory_order_relaxed);
    held_.store(0, std::memory_order_release);
  }
}

Detector::Noted Detector::note_held(Range read, const Limits& limits) noexcept {
  ++reads_;
  touch(read);
  bool fresh = false;
  const std::uint32_t at = place(read, std::min(limits.gap, 2 * (read.end - read.offset)), fresh);
  std::uint32_t index = foretold(read, at);
  Noted noted = Noted::not_foretold;
  if (index != none) {
    idle_ = 0;
    const bool whole = series_[index].grows != 0 || series_[index].length <= limits.window / 2;
    noted = whole ? Noted::foretold : Noted::foretold_in_part;
  } else {
    ++idle_;
    index = recognise(read, at, fresh);
  }
  for (std::uint32_t other = 0; other < most_series; ++other) {
    if (series_[other].direction != 0 && reads_ - series_[other].touched > longest_absence) {
      drop(other);
    }
  }
  if (is_wasteful() || idle_ >= reads_before_a_rest) {
    begin_rest();
    return Noted::no_pattern;
  }
  if (index != none) {
    ask(index, limits);
  }
  return noted;
}

// Regions.

std::uint32_t Detector::place(Range read, std::uint64_t near, bool& fresh) noexcept {
  const std::uint32_t used = count();
  const auto* found =
      std::lower_bound(regions_.data(), regions_.data() + used, read,
                       [near](const Region& region, const Range& wanted) { return region.end + near < wanted.offset; });
  auto at = static_cast<std::uint32_t>(found - regions_.data());
  fresh = at == used || regions_[at].begin > read.end + near;
  if (fresh) {
    return make_region(at, read);
  }
  Region& region = regions_[at];
  const std::int32_t before = reads_ - region.touched <= soon ? region.grown : 0;
  if (read.offset < region.begin) {
    region.grown = std::min(before, 0) - 1;
  } else if (read.end > region.end && read.offset != region.end) {
    region.grown = std::max(before, 0) + 1;
  }
  region.begin = std::min(region.begin, read.offset);
  region.end = std::max(region.end, read.end);
  region.bytes += read.end - read.offset;
  region.touched = reads_;
  join(at, near);
  return at;
}

std::uint32_t Detector::make_region(std::uint32_t at, Range read) noexcept {
  const std::uint32_t used = count();
  at = std::min(at, used);
  if (used == most_regions) {
    const auto* oldest = std::min_element(regions_.begin(), regions_.end(), [](const Region& one, const Region& other) {
      return one.touched < other.touched;
    });
    const auto gone = static_cast<std::uint32_t>(oldest - regions_.begin());
    if (gone < at) {
      --at;
      std::move(regions_.begin() + gone + 1, regions_.begin() + at + 1, regions_.begin() + gone);
    } else {
      std::move_backward(regions_.begin() + at, regions_.begin() + gone, regions_.begin() + gone + 1);
    }
  } else {
    std::move_backward(regions_.begin() + at, regions_.begin() + used, regions_.begin() + used + 1);
    count_.store(used + 1, std::memory_order_relaxed);
  }
  regions_[at] = {read.offset, read.end, read.end - read.offset, reads_, reads_, 0, 0};
  return at;
}

// What the region has grown up to becomes a part of it.
void Detector::join(std::uint32_t at, std::uint64_t near) noexcept {
  Region& region = regions_[at];
  const std::uint32_t used = std::max(count(), at + 1);
  std::uint32_t next = at + 1;
  for (; next < used && regions_[next].begin <= region.end + near; ++next) {
    region.end = std::max(region.end, regions_[next].end);
    region.bytes += regions_[next].bytes;
    region.born = std::min(region.born, regions_[next].born);
  }
  std::move(regions_.begin() + next, regions_.begin() + used, regions_.begin() + at + 1);
  count_.store(used - (next - at - 1), std::memory_order_relaxed);
}

// Series.

std::uint32_t Detector::foretold(Range read, std::uint32_t at) noexcept {
  for (std::uint32_t index = 0; index < most_series; ++index) {
    Series& series = series_[index];
    if (series.direction == 0) {
      continue;
    }
    const Range seen = seen_from(read, series.direction);
    if (series.grows != 0) {
      const std::uint64_t end = std::max(series.guessed_to, series.front + first_growth);
      if (seen.offset >= series.begin && seen.offset <= end) {
        series.front = std::max(series.front, seen.end);
        series.touched = reads_;
        return index;
      }
      continue;
    }
    const std::uint64_t slack = series.slack();
    for (std::uint32_t steps = 0; steps <= most_steps; ++steps) {
      const std::uint64_t begin = series.begin + steps * series.period;
      if (seen.offset + slack >= begin && seen.offset <= begin + series.length + slack) {
        if (steps != 0) {
          go_on(series, index, steps, at);
        }
        series.touched = reads_;
        return index;
      }
    }
  }
  return none;
}

// The program has come to a later region: what the one before was like is known now.
void Detector::go_on(Series& series, std::uint32_t index, std::uint32_t steps, std::uint32_t at) noexcept {
  const std::uint64_t slack = series.slack();
  const std::uint32_t before = at - static_cast<std::uint32_t>(series.direction);
  std::uint64_t begin = series.begin + steps * series.period;
  if (steps == 1 && before < count()) {
    const Range last = seen_from({regions_[before].begin, regions_[before].end}, series.direction);
    const std::uint64_t length = last.end - last.offset;
    const std::uint64_t off = last.offset > series.begin ? last.offset - series.begin : series.begin - last.offset;
    if (off <= slack && length <= series.length + 2 * slack && length + 2 * slack >= series.shortest) {
      begin = last.end + series.gap;
      series.uneven = std::max(off, series.uneven - series.uneven / 8);
      // Towards what was seen: at once where it exceeds, slowly where it does not.
      series.length = std::max(length, series.length - (series.length - std::min(length, series.length)) / 8);
      series.shortest = std::min(length, series.shortest + (std::max(length, series.shortest) - series.shortest) / 8);
      const std::uint64_t period = begin - series.begin;
      series.period = period > series.period ? series.period + (period - series.period + 7) / 8
                                             : series.period - (series.period - period + 7) / 8;
      const std::uint32_t second = before - static_cast<std::uint32_t>(series.direction);
      if (second < count()) {
        const Range other = seen_from({regions_[second].begin, regions_[second].end}, series.direction);
        const std::uint64_t gap = last.offset - other.end;
        if (last.offset > other.end && gap + slack >= series.gap && gap <= series.gap + slack) {
          series.gap = std::min(gap, series.gap + (std::max(gap, series.gap) - series.gap) / 8);
        }
      }
    }
  }
  series.begin = begin;
  bool wasted = steps != 1;
  for (Guess& guess : guesses_) {
    if (guess.end != 0 && guess.series == index && seen_from({guess.begin, guess.end}, series.direction).end <= begin) {
      wasted = wasted || guess.low == guess.high;
      retire(guess);
    }
  }
  series.ahead = wasted ? 1 : std::min(2 * series.ahead, most_ahead);
}

std::uint32_t Detector::recognise(Range read, std::uint32_t at, bool fresh) noexcept {
  Series made{};
  const bool found = fresh ? is_regular(read, at, 1, made) || is_regular(read, at, -1, made)
                           : is_growing(at, 1, made) || is_growing(at, -1, made);
  if (!found) {
    return none;
  }
  std::uint32_t index = 0;
  for (std::uint32_t other = 0; other < most_series; ++other) {
    if (series_[other].direction == 0 ||
        (series_[index].direction != 0 && series_[other].touched < series_[index].touched)) {
      index = other;
    }
  }
  drop(index);
  made.touched = reads_;
  series_[index] = made;
  idle_ = 0;
  return index;
}

// Whether the three regions that the program came from are like each other, and it is now where a fourth one would be.
bool Detector::is_regular(Range read, std::uint32_t at, std::int32_t direction, Series& made) const noexcept {
  std::array<Range, 3> last{};
  std::uint32_t born = regions_[at].born;
  std::uint32_t number = at;
  for (Range& region : last) {
    number -= static_cast<std::uint32_t>(direction);  // below 0 it is above all
    if (number >= count() || regions_[number].born >= born) {
      return false;
    }
    born = regions_[number].born;
    region = seen_from({regions_[number].begin, regions_[number].end}, direction);
  }
  std::uint64_t longest = 0;
  std::uint64_t shortest = far_end;
  for (const Range& region : last) {
    longest = std::max(longest, region.end - region.offset);
    shortest = std::min(shortest, region.end - region.offset);
  }
  const std::uint64_t one = last[0].offset - last[1].end;
  const std::uint64_t other = last[1].offset - last[2].end;
  const std::uint64_t least = std::min(one, other);
  const std::uint64_t tolerance = longest / part_wasted + bytes_of_page;
  if (longest - shortest + std::max(one, other) - least > tolerance) {
    return false;
  }
  const Range seen = seen_from(read, direction);
  const std::uint64_t begin = last[0].end + least;
  const std::uint64_t slack = std::min(tolerance, least / 4);
  if (seen.offset + slack < begin || seen.offset > begin + longest || seen.end > begin + longest + slack) {
    return false;
  }
  made.begin = begin;
  made.length = longest;
  made.shortest = shortest;
  made.gap = least;
  made.period = (last[0].offset - last[2].offset) / 2;
  made.guessed_to = seen.offset <= begin + bytes_of_page ? seen.end : begin;
  made.ahead = 1;
  made.direction = direction;
  return true;
}

bool Detector::is_growing(std::uint32_t at, std::int32_t direction, Series& made) const noexcept {
  const Region& region = regions_[at];
  const std::uint64_t span = region.end - region.begin;
  // Of what it has read little, most of what would be read ahead would be gaps.
  if (direction * region.grown < grown_enough || region.bytes < span / most_with_gaps) {
    return false;
  }
  const Range seen = seen_from({region.begin, region.end}, direction);
  made.begin = seen.offset;
  made.front = seen.end;
  made.guessed_to = seen.end;
  made.length = first_growth;
  made.direction = direction;
  made.grows = 1;
  return true;
}

void Detector::drop(std::uint32_t index) noexcept {
  for (Guess& guess : guesses_) {
    if (guess.end != 0 && guess.series == index) {
      retire(guess);
    }
  }
  series_[index] = {};
}

// Guesses.

void Detector::ask(std::uint32_t index, const Limits& limits) noexcept {
  Series& series = series_[index];
  Range pending{0, 0};
  if (series.grows != 0) {
    for (Guess& guess : guesses_) {
      if (guess.end != 0 && guess.series == index &&
          seen_from({guess.begin, guess.end}, series.direction).end + limits.window / 8 <= series.front) {
        retire(guess);  // not at once: there are steps back
      }
    }
    if (series.guessed_to <= series.front + series.length / 2) {
      // A region that has grown for long goes on for long.
      series.length =
          std::clamp((series.front - series.begin) / 4, first_growth, std::max(first_growth, limits.window / 4));
      guess(index, {series.guessed_to, series.front + series.length}, limits, pending);
    }
  } else {
    const std::uint64_t spread = series.length - series.shortest;
    const std::uint64_t uneven = series.uneven;
    const std::uint64_t margin = std::max(spread / 4, std::min(uneven, series.slack()));
    const std::uint64_t part = std::min(series.length, limits.window / 2);
    std::uint32_t ahead = std::min(series.ahead, spread > bytes_of_page ? most_ahead_if_uneven : most_ahead);
    if (uneven != 0) {
      // Where they lie is known the less the further ahead: not further than they still overlap with what is asked for.
      ahead =
          std::min(ahead, static_cast<std::uint32_t>(std::clamp<std::uint64_t>(series.length / uneven, 1, most_ahead)));
    }
    if (series.guessed_to >= series.begin + (ahead + 1) / 2 * series.period + series.length) {
      return;  // several at a time
    }
    for (std::uint32_t step = 0; step <= ahead; ++step) {
      const std::uint64_t begin = series.begin + step * series.period;
      const std::uint64_t early = step == 0 ? 0 : std::min(margin, begin);
      const Range wanted{std::max(begin - early, series.guessed_to), begin + part + early};
      if (wanted.offset < wanted.end && !guess(index, wanted, limits, pending)) {
        break;
      }
    }
  }
  if (pending.end != 0) {
    queue_.push(pending);
  }
}

// Ranges that are near to the one before are one request. False: there is no room.
bool Detector::guess(std::uint32_t index, Range along, const Limits& limits, Range& pending) noexcept {
  along.end = std::min(along.end, far_end);
  // Room for what is pending and for this.
  if (along.offset >= along.end || queue_.waiting() + 2 > most_guesses) {
    return false;
  }
  // No more may be under way than what has come true: nothing is lost by a pattern that was none.
  const std::uint64_t outstanding = outstanding_.load(std::memory_order_relaxed);
  const std::uint64_t most = std::min(limits.window, allowance + used_);
  const std::uint64_t room = most - std::min(most, outstanding);
  if (along.end - along.offset > room) {
    if (room < first_growth) {
      return false;
    }
    along.end = along.offset + room;
  }
  Range range = seen_from(along, series_[index].direction);
  range.end = std::min(range.end, limits.size);
  if (range.offset >= range.end) {
    return false;
  }
  auto* free = std::find_if(guesses_.begin(), guesses_.end(), [](const Guess& each) { return each.end == 0; });
  const Range both{std::min(pending.offset, range.offset), std::max(pending.end, range.end)};
  const std::uint64_t bytes = range.end - range.offset + pending.end - pending.offset;
  const bool near = pending.end != 0 && both.end - both.offset <= std::min(bytes + limits.gap, bytes * most_with_gaps);
  if (free == guesses_.end() || (pending.end != 0 && !near && !queue_.push(pending))) {
    return false;
  }
  pending = near ? both : range;
  *free = {range.offset, range.end, 0, 0, index, queue_.next()};
  outstanding_.store(outstanding + (range.end - range.offset), std::memory_order_relaxed);
  series_[index].guessed_to = along.end;
  return true;
}

void Detector::touch(Range read) noexcept {
  if (outstanding_.load(std::memory_order_relaxed) == 0) {
    return;
  }
  bool overlaps = false;
  bool covered = false;
  for (Guess& guess : guesses_) {
    const std::uint64_t low = std::max(guess.begin, read.offset);
    const std::uint64_t high = std::min(guess.end, read.end);
    if (low >= high) {
      continue;
    }
    const std::uint64_t before = guess.high - guess.low;
    if (is_small(guess)) {
      overlaps = true;
      covered = covered || (read.offset / bytes_of_page >= guess.begin / bytes_of_page &&
                            (read.end - 1) / bytes_of_page <= (guess.end - 1) / bytes_of_page);
    }
    if (before == 0) {
      counts_.late.fetch_add(queue_.waits(guess.number) ? 1 : 0, std::memory_order_relaxed);
      guess.low = low;
      guess.high = high;
    } else {
      guess.low = std::min(guess.low, low);
      guess.high = std::max(guess.high, high);
    }
    const std::uint64_t used = guess.high - guess.low - before;
    used_ += used;
    counts_.used.fetch_add(used, std::memory_order_relaxed);
    take_off(used);
  }
  if (overlaps) {
    (covered ? right_ : wrong_) += 1;
  }
}

// A request for it takes longer than its bytes.
bool Detector::is_small(const Guess& guess) const noexcept {
  return guess.end - guess.begin <= smallest_that_counts_bytes && series_[guess.series % most_series].grows == 0;
}

void Detector::take_off(std::uint64_t bytes) noexcept {
  const std::uint64_t outstanding = outstanding_.load(std::memory_order_relaxed);
  outstanding_.store(outstanding - std::min(outstanding, bytes), std::memory_order_relaxed);
}

void Detector::retire(Guess& guess) noexcept {
  const std::uint64_t used = guess.high - guess.low;
  const std::uint64_t wasted = guess.end - guess.begin - used;
  // Of one that was right, what it has in front and behind costs no request.
  wasted_ += used >= wasted ? 0 : wasted;
  if (used == 0 && is_small(guess)) {
    ++wrong_;
  }
  counts_.wasted.fetch_add(wasted, std::memory_order_relaxed);
  take_off(wasted);
  guess = {};
}

bool Detector::is_wasteful() const noexcept {
  // Requests count beside bytes: small ones take as long.
  return wasted_ > allowance + used_ / part_wasted || wrong_ > most_wrong + right_ / part_wrong;
}

void Detector::begin_rest() noexcept {
  for (std::uint32_t index = 0; index < most_series; ++index) {
    drop(index);
  }
  // What has just been judged wasted is not asked for any more.
  queue_.clear();
  count_.store(0, std::memory_order_relaxed);
  idle_ = 0;
  used_ = 0;
  wasted_ = 0;
  right_ = 0;
  wrong_ = 0;
  const std::uint32_t rest = rest_.load(std::memory_order_relaxed);
  rest_.store(std::clamp(2 * rest, first_rest, longest_rest), std::memory_order_relaxed);
}

}  // namespace dovetail::prefetching
