#include "prefetch/file_interest.hpp"

#include <algorithm>
#include <utility>

namespace dovetail::prefetching {
namespace {

constexpr std::uint32_t enough_in_order = 3;
constexpr std::uint32_t few = 32;     // tasks after which all of the file may be there, or reading ahead come too late
constexpr std::uint32_t many = 1024;  // tasks after which what follows is there as well
constexpr std::uint32_t most_writers = 256;
constexpr std::uint64_t longest_rest = 64'000'000;  // nanoseconds
constexpr std::uint64_t too_late = 200'000;         // nanoseconds: about a request

}  // namespace

bool FileInterest::wants(const base::ByteRange& range, std::uint64_t now) noexcept {
  readers_ = std::min(readers_ + 1, few);
  in_order_ = range.offset == last_end_ ? std::min(in_order_ + 1, enough_in_order) : 0;
  last_end_ = range.end();
  // Once it is read, the kernel's own requests are so long that more of them ahead bring nothing. And it takes large folios, which advice does not.
  is_in_order_ =
      in_order_ == enough_in_order && std::max<std::uint64_t>(facts_.read_ahead, range.length) >= facts_.of_request;
  if (rests_ && now < look_at_) {
    return false;
  }
  look_at_ = now + rest_;
  return true;
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
    was_asked_ = false;
    rests_ = false;
  } else if (rests_) {
    rest(now);
  } else {
    there_ = std::min(there_ + tasks, many);
    if (there_ == many) {
      rest(now);
    }
  }
}

bool FileInterest::is_probably_all_there() noexcept {
  if (rests_ || was_asked_ || there_ < few) {
    return false;
  }
  was_asked_ = true;
  return true;
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
  rests_ = true;
  there_ = 0;
  hurried_ = 0;
  was_asked_ = false;
  look_at_ = now + rest_;
  rest_ = std::min(2 * rest_, longest_rest);
}

}  // namespace dovetail::prefetching
