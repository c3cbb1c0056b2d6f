#include "prefetch/file_interest.hpp"

#include <algorithm>
#include <utility>

namespace dovetail::prefetching {
namespace {

constexpr std::uint32_t enough_in_order = 3;
constexpr std::uint32_t few = 32;           // tasks after which some are enough, or reading ahead comes too late
constexpr std::uint32_t one_of = 8;         // tasks that is looked at from then on
constexpr std::uint32_t many_seen = 256;    // tasks after which what follows is there as well
constexpr std::uint32_t many_there = 1024;  // the same of tasks that were noted
constexpr std::uint32_t most_writers = 256;
constexpr std::uint64_t longest_rest = 64'000'000;  // nanoseconds
constexpr std::uint64_t too_late = 200'000;         // nanoseconds: about a request

}  // namespace

FileInterest::Wish FileInterest::wants(const base::ByteRange& range, std::uint64_t now) noexcept {
  readers_ = std::min(readers_ + 1, few);
  in_order_ = range.offset == last_end_ ? std::min(in_order_ + 1, enough_in_order) : 0;
  last_end_ = range.end();
  // Once it is read, the kernel's own requests are so long that more of them ahead bring nothing. And it takes large folios, which advice does not.
  is_in_order_ =
      in_order_ == enough_in_order && std::max<std::uint64_t>(facts_.read_ahead, range.length) >= facts_.of_request;
  if (rests_) {
    if (now < look_at_) {
      return Wish::nothing;
    }
    look_at_ = now + rest_;
    return rests_as_seen_ ? Wish::look : Wish::note;
  }
  if (seen_ >= few && seen_ % one_of != 0) {
    ++seen_;
    return Wish::nothing;
  }
  return Wish::look;
}

void FileInterest::was_seen(bool is_there, std::uint64_t now) noexcept {
  if (!is_there) {
    seen_ = 0;
    rests_ = rests_ && !rests_as_seen_;
    return;
  }
  if (rests_) {
    rest(now);
  } else if (++seen_ >= many_seen) {
    rest(now);
    rests_as_seen_ = true;
  }
}

bool FileInterest::is_new() const noexcept { return readers_ < few; }

bool FileInterest::wants_writer() noexcept {
  if (readers_ != 0) {
    return !rests_;
  }
  writers_ = std::min(writers_ + 1, most_writers + 1);
  return writers_ <= most_writers;
}

void FileInterest::looked_at(std::uint32_t tasks, bool was_there, std::uint64_t now) noexcept {
  if (!was_there) {
    there_ = 0;
    rests_ = false;
  } else if (rests_) {
    rest(now);
  } else {
    there_ = std::min(there_ + tasks, many_there);
    if (there_ == many_there) {
      rest(now);
    }
  }
}

void FileInterest::begins(std::uint64_t ahead, std::uint64_t now) noexcept {
  begun_[0] = std::exchange(begun_[1], now);
  if (ahead >= too_late) {
    hurried_ = 0;
    if (!rests_) {
      rest_ = first_rest;
    }
  } else if (!rests_ && ++hurried_ == few) {
    rest(now);
  }
}

void FileInterest::rest(std::uint64_t now) noexcept {
  rests_as_seen_ = rests_ && rests_as_seen_;
  rests_ = true;
  seen_ = 0;
  there_ = 0;
  hurried_ = 0;
  look_at_ = now + rest_;
  rest_ = std::min(2 * rest_, longest_rest);
}

}  // namespace dovetail::prefetching
