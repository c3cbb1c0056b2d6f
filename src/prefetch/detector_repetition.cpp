#include "prefetch/detector_repetition.hpp"

#include <algorithm>

namespace dovetail::prefetching {
bool Repetition::note(std::uint64_t offset, std::uint64_t bytes, const Detector::Limits& limits,
                      Detector::Counts& counts) noexcept {
  if (bytes == 0 || limits.size > largest_file || offset >= limits.size ||
      held_.exchange(1, std::memory_order_acquire) != 0) {
    return false;
  }
  const std::uint64_t end = bytes > limits.size - offset ? limits.size : offset + bytes;
  const bool foretold = note_held({offset / bytes_of_page, (end + bytes_of_page - 1) / bytes_of_page}, limits, counts);
  held_.store(0, std::memory_order_release);
  return foretold;
}

void Repetition::forget(Detector::Counts& counts) noexcept {
  if (held_.exchange(1, std::memory_order_acquire) == 0) {
    empty(counts);
    rest_.store(0, std::memory_order_relaxed);
    last_rest_ = 0;
    held_.store(0, std::memory_order_release);
  }
}

std::uint32_t Repetition::take(Range* ranges, std::uint32_t most, std::uint64_t gap) noexcept {
  std::uint32_t count = 0;
  while (count < most && queue_.take(ranges[count])) {
    ++count;
  }
  return arrange(ranges, count, gap, room_.load(std::memory_order_relaxed));
}

bool Repetition::note_held(Range pages, const Detector::Limits& limits, Detector::Counts& counts) noexcept {
  if (rests()) {
    return false;
  }
  const bool goes_on = pages.offset <= last_end_ && pages.end >= last_end_ && last_end_ != 0;
  last_end_ = pages.end;
  if (goes_on) {
    // What was read in sequence belongs to where it began.
    const std::uint32_t last = count();
    if (in_last_ != 0 && last != 0) {
      Place& place = places_[last - 1];
      place.pages = pages_of_place(std::max<std::uint64_t>(pages.end, place.page) - place.page);
    }
    const Place& at = places_[std::min(cursor_, most_places - 1)];
    return known_to_follow_ != 0 && pages.end <= at.page + most_of_place / bytes_of_page;
  }
  in_last_ = 0;
  known_to_follow_ = 0;
  const std::uint32_t number = find(pages.offset);
  const std::uint32_t cursor = std::min(cursor_, most_places - 1);
  if (number != none && follows_ != 0 && number + near() >= cursor && number <= cursor + near()) {
    come_to(number, counts);
    known_to_follow_ = 1;
  } else {
    if (follows_ != 0) {
      stray(counts);
    }
    if (number != none) {
      consider(number, counts);
    } else if (const std::uint32_t kept = count(); kept < most_places) {
      append(kept, pages);
    } else {
      ++idle_;
    }
  }
  if (wasted_ > Detector::allowance + used_ / Detector::part_wasted ||
      wrong_ > Detector::most_wrong + right_ / Detector::part_wrong) {
    begin_rest(Detector::first_rest, counts);
    return false;
  }
  if (idle_ > reads_of_each * count() + least_reads) {
    begin_rest(rest_from_nothing, counts);
  }
  if (follows_ != 0) {
    ask(limits);
  }
  return known_to_follow_ != 0;
}

// Places.

std::uint32_t Repetition::count() const noexcept {
  return std::min(count_.load(std::memory_order_relaxed), most_places);
}

std::uint16_t& Repetition::latest(std::uint64_t page) noexcept {
  constexpr unsigned bits = 14;
  static_assert(2 * most_places == 1U << bits);
  return latest_[(page * 0x9E3779B97F4A7C15) >> (64 - bits)];
}

std::uint32_t Repetition::find(std::uint64_t page) noexcept {
  const std::uint32_t number = latest(page);
  if (number != 0 && number <= count() && places_[number - 1].page == page) {
    return number - 1;
  }
  if (follows_ == 0 && points_ <= for_it) {
    return none;  // nothing is expected
  }
  // Of places with the same number in `latest_` it knows one.
  const std::uint32_t expected = (follows_ != 0 ? cursor_ : candidate_) % most_places;
  const std::uint32_t last = std::min(expected + near() + 1, count());
  for (std::uint32_t near_by = expected - std::min(expected, near()); near_by < last; ++near_by) {
    if (places_[near_by].page == page) {
      return near_by;
    }
  }
  return none;
}

std::uint32_t Repetition::near() const noexcept { return std::clamp(count() / part_near, 1U, farthest); }

std::uint16_t Repetition::pages_of_place(std::uint64_t pages) noexcept {
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(pages, UINT16_MAX));
}

void Repetition::append(std::uint32_t number, Range pages) noexcept {
  places_[number] = {static_cast<std::uint32_t>(pages.offset), pages_of_place(pages.end - pages.offset), 0};
  count_.store(number + 1, std::memory_order_relaxed);
  latest(pages.offset) = static_cast<std::uint16_t>(number + 1);
  in_last_ = 1;
}

// Following.

void Repetition::consider(std::uint32_t number, Detector::Counts& counts) noexcept {
  ++idle_;
  if (points_ != 0 && number + near() >= candidate_ && number <= std::uint64_t{candidate_} + near()) {
    if (number > candidate_) {
      candidate_ = number;
      points_ += for_it;
    }
  } else if (points_ > 1) {
    --points_;
  } else {
    candidate_ = number;
    points_ = for_it;
  }
  if (points_ >= points_enough) {
    lose(counts);
    follows_ = 1;
    cursor_ = candidate_;
    judged_to_ = candidate_;
    asked_to_ = candidate_ + 1;
    right_in_a_row_ = points_enough / for_it;
    idle_ = 0;
    known_to_follow_ = 1;
  }
}

void Repetition::come_to(std::uint32_t number, Detector::Counts& counts) noexcept {
  Place& place = places_[number];
  idle_ = 0;
  strayed_ -= strayed_ == 0 ? 0 : 1;
  decide(place, used_, right_, counts.used);
  if (number > cursor_) {
    cursor_ = number;
    ++right_in_a_row_;
    judge(number - std::min(number, near()), counts);
  }
}

void Repetition::stray(Detector::Counts& counts) noexcept {
  if (++strayed_ > most_strayed) {
    lose(counts);
  }
}

void Repetition::lose(Detector::Counts& counts) noexcept {
  if (follows_ != 0) {
    judge(most_places, counts);
    queue_.clear();
  }
  follows_ = 0;
  right_in_a_row_ = 0;
  strayed_ = 0;
  points_ = 0;
}

void Repetition::judge(std::uint32_t end, Detector::Counts& counts) noexcept {
  end = std::min({end, asked_to_, most_places});
  for (; judged_to_ < end; ++judged_to_) {
    decide(places_[judged_to_], wasted_, wrong_, counts.wasted);
  }
}

// No more may be under way than what has come true: nothing is lost by an order that was none.
void Repetition::ask(const Detector::Limits& limits) noexcept {
  const std::uint32_t ahead = std::min(right_in_a_row_, most_ahead);
  const std::uint32_t cursor = std::min(cursor_, most_places - 1);
  if (asked_to_ > cursor + ahead / 2 + 1) {
    return;  // many at a time
  }
  const std::uint64_t most = std::min(limits.window, Detector::allowance + used_);
  std::uint64_t outstanding = outstanding_.load(std::memory_order_relaxed);
  if (outstanding > most / 2) {
    return;
  }
  room_.store(limits.window / 2, std::memory_order_relaxed);
  std::uint32_t at = std::max(asked_to_, cursor + 1);
  for (const std::uint32_t end = std::min(cursor + ahead + 1, count()); at < end; ++at) {
    Place& place = places_[at];
    const std::uint64_t begin = std::uint64_t{place.page} * bytes_of_page;
    const std::uint64_t bytes = asked_bytes(place);
    if (begin >= limits.size) {
      continue;
    }
    if (outstanding + bytes > most || !queue_.push({begin, std::min(begin + bytes, limits.size)})) {
      break;
    }
    place.asked = 1;
    outstanding += bytes;
  }
  asked_to_ = at;
  outstanding_.store(outstanding, std::memory_order_relaxed);
}

void Repetition::empty(Detector::Counts& counts) noexcept {
  lose(counts);
  count_.store(0, std::memory_order_relaxed);
  outstanding_.store(0, std::memory_order_relaxed);
  idle_ = 0;
  right_ = 0;
  wrong_ = 0;
  used_ = 0;
  wasted_ = 0;
  in_last_ = 0;
}

void Repetition::begin_rest(std::uint32_t least, Detector::Counts& counts) noexcept {
  empty(counts);
  last_rest_ = std::clamp(2 * std::min(last_rest_, longest_rest), least, longest_rest);
  rest_.store(last_rest_, std::memory_order_relaxed);
}

std::uint64_t Repetition::asked_bytes(const Place& place) noexcept {
  return std::min(place.pages * bytes_of_page, most_of_place);
}

void Repetition::decide(Place& place, std::uint64_t& bytes, std::uint32_t& small_ones,
                        std::atomic<std::uint64_t>& counted) noexcept {
  if (place.asked == 0) {
    return;
  }
  place.asked = 0;
  const std::uint64_t asked = asked_bytes(place);
  const std::uint64_t outstanding = outstanding_.load(std::memory_order_relaxed);
  outstanding_.store(outstanding - std::min(outstanding, asked), std::memory_order_relaxed);
  bytes += asked;
  small_ones += asked <= Detector::smallest_that_counts_bytes ? 1 : 0;
  counted.fetch_add(asked, std::memory_order_relaxed);
}

}  // namespace dovetail::prefetching
