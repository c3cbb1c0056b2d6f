#include "prefetch/follower.hpp"

#include <algorithm>

#include "prefetch/ranges.hpp"
#include "prefetch/waiting.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint32_t none = UINT32_MAX;
// In place of what is issued: the program was at the end of the plan, and reads what a new pass begins with. Nothing is asked for.
constexpr std::uint32_t perhaps_again = UINT32_MAX;

// The place, in the order of the file, of the first extent that ends behind the offset.
std::uint32_t first_behind(const FilePlan& plan, std::uint64_t offset) noexcept {
  std::uint32_t low = 0;
  std::uint32_t high = plan.count;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (plan.extents[plan.number(middle)].end() <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool come_to(const FilePlan& plan, std::uint32_t number) noexcept {
  if (plan.come_to[number].load(std::memory_order_relaxed) != 0) {
    return false;
  }
  plan.come_to[number].store(1, std::memory_order_relaxed);
  return true;
}

// Of the extents that the read touches, the furthest in the plan that is near to where the program is; else any; else none.
std::uint32_t touched(const FilePlan& plan, std::uint64_t offset, std::uint64_t end, std::uint32_t cursor,
                      bool& first_time) noexcept {
  // What is needed next, and nothing else: extents do not overlap, so that there is nothing to look for.
  if (cursor < plan.count && offset >= plan.extents[cursor].offset && end <= plan.extents[cursor].end()) {
    first_time = come_to(plan, cursor);
    return cursor;
  }
  std::uint32_t best = none;
  bool best_is_near = false;
  first_time = false;
  const std::uint32_t first = first_behind(plan, offset);
  for (std::uint32_t place = first; place < plan.count && place - first < reach; ++place) {
    const std::uint32_t number = plan.number(place);
    if (plan.extents[number].offset >= end) {
      break;
    }
    first_time = come_to(plan, number) || first_time;
    const bool near = number >= cursor && number - cursor <= reach;
    if (best == none || (near && (!best_is_near || number > best))) {
      best = number;
      best_is_near = near;
    }
  }
  return best;
}

// A thread that comes late with an older place changes nothing.
void advance(std::atomic<std::uint32_t>& cursor, std::uint32_t to) noexcept {
  std::uint32_t seen = cursor.load(std::memory_order_relaxed);
  while (seen < to && !cursor.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
  }
}

void foretold(Progress& progress) noexcept {
  std::int32_t seen = progress.strayed.load(std::memory_order_relaxed);
  if (seen > 0) {
    progress.strayed.compare_exchange_strong(seen, seen - 1, std::memory_order_relaxed);
  }
}

bool strays_too_often(Progress& progress) noexcept {
  progress.unforeseen.fetch_add(1, std::memory_order_relaxed);
  if (progress.strayed.fetch_add(1, std::memory_order_relaxed) < most_strays) {
    return false;
  }
  progress.given_up.store(does_not_fit, std::memory_order_relaxed);
  return true;
}

// The program was at the end of the plan.
void begin_again(const FilePlan& plan, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (!may_begin_again(plan) || bytes == 0) {
    return;
  }
  const Extent& first = plan.extents[0];
  if (offset < first.offset || offset >= first.end()) {
    return;
  }
  const bool is_whole = bytes >= first.end() - offset;
  std::uint32_t at_the_end = plan.progress->cursor.load(std::memory_order_relaxed);
  plan.progress->issued.store(perhaps_again, std::memory_order_relaxed);
  // Until it is a pass, this counts the reads that speak for one.
  plan.progress->strayed.store(is_whole ? 1 : 0, std::memory_order_relaxed);
  if (at_the_end >= plan.count) {
    plan.progress->cursor.compare_exchange_strong(at_the_end, is_whole ? 1U : 0U, std::memory_order_relaxed);
  }
}

// `found`: the extent that a read of a perhaps new pass has touched, and `next` the one behind it.
Followed go_on_again(const FilePlan& plan, std::uint32_t found, std::uint32_t next, std::uint32_t cursor) noexcept {
  Progress& progress = *plan.progress;
  // Several threads may be a little out of order.
  if (found == none || (found < cursor ? cursor - found : found - cursor) > runs_of_a_new_pass) {
    progress.cursor.store(plan.count, std::memory_order_relaxed);
    return Followed::over;
  }
  advance(progress.cursor, next);
  if (next <= cursor ||
      progress.strayed.fetch_add(1, std::memory_order_relaxed) + 1 < static_cast<std::int32_t>(runs_of_a_new_pass)) {
    return Followed::over;
  }
  // First: what was asked for in this pass is reckoned from here.
  progress.asked_before.store(std::max<std::uint64_t>(progress.asked.load(std::memory_order_relaxed), 1),
                              std::memory_order_relaxed);
  progress.strayed.store(0, std::memory_order_relaxed);
  std::uint32_t seen = perhaps_again;
  progress.issued.compare_exchange_strong(seen, 0, std::memory_order_relaxed);
  return wants_advice(plan) ? Followed::wants : Followed::fits;
}

}  // namespace

void note_begun(const FilePlan& plan) noexcept {
  if (plan.count == 0 && plan.progress != nullptr) {
    plan.progress->cursor.store(1, std::memory_order_relaxed);
  }
}

Followed follow(const FilePlan& plan, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (is_over(plan)) {
    note_begun(plan);
    begin_again(plan, offset, bytes);
    return Followed::over;
  }
  Progress& progress = *plan.progress;
  if (bytes == 0 || offset >= plan.size) {
    return Followed::fits;
  }
  const std::uint64_t end = bytes > plan.size - offset ? plan.size : offset + bytes;
  const std::uint32_t cursor = progress.cursor.load(std::memory_order_relaxed);
  bool first_time = false;
  const std::uint32_t found = touched(plan, offset, end, cursor, first_time);
  if (perhaps_begins_again(plan)) {
    return go_on_again(plan, found, found == none ? 0 : found + (end >= plan.extents[found].end() ? 1 : 0), cursor);
  }
  if (found == none) {
    return strays_too_often(progress) ? Followed::over : Followed::fits;
  }
  const std::uint32_t next = found + (end >= plan.extents[found].end() ? 1 : 0);
  if (found < cursor) {
    // Again, or a little late. Otherwise it was left out before, and the program goes through the file in another order.
    if (!first_time || cursor - found <= reach) {
      foretold(progress);
    } else if (strays_too_often(progress)) {
      return Followed::over;
    }
  } else if (found - cursor <= reach) {
    advance(progress.cursor, next);
    foretold(progress);
  } else {
    // The program has left something out. What was asked for is not taken back.
    if (strays_too_often(progress)) {
      return Followed::over;
    }
    advance(progress.cursor, next);
  }
  if (is_over(plan)) {
    return Followed::over;
  }
  return wants_advice(plan) ? Followed::wants : Followed::fits;
}

void count_read(const FilePlan& plan, std::uint64_t bytes, std::uint64_t nanoseconds) noexcept {
  if (is_over(plan) || plan.progress->asked_before.load(std::memory_order_relaxed) != 0 || perhaps_begins_again(plan)) {
    return;
  }
  plan.progress->counts.count(bytes, nanoseconds);
}

bool is_over(const FilePlan& plan) noexcept {
  return plan.count == 0 || plan.progress->given_up.load(std::memory_order_relaxed) != not_given_up ||
         plan.progress->cursor.load(std::memory_order_relaxed) >= plan.count;
}

bool may_begin_again(const FilePlan& plan) noexcept {
  return plan.count >= runs_of_a_new_pass && plan.progress->given_up.load(std::memory_order_relaxed) == not_given_up &&
         (plan.progress->cursor.load(std::memory_order_relaxed) >= plan.count || perhaps_begins_again(plan));
}

bool perhaps_begins_again(const FilePlan& plan) noexcept {
  return plan.count != 0 && plan.progress->issued.load(std::memory_order_relaxed) == perhaps_again;
}

std::uint64_t ahead(const FilePlan& plan) noexcept {
  if (plan.count == 0) {
    return 0;
  }
  const std::uint32_t cursor = plan.progress->cursor.load(std::memory_order_relaxed);
  const std::uint32_t issued = plan.progress->issued.load(std::memory_order_relaxed);
  if (issued <= cursor) {
    return 0;
  }
  const Extent& last = plan.extents[std::min(issued, plan.count) - 1];
  const std::uint64_t to = last.before + last.bytes;
  const std::uint64_t from = plan.extents[std::min(cursor, plan.count - 1)].before;
  return to > from ? to - from : 0;
}

namespace {

// With the gaps that are read as well: as many of them as there were so far.
std::uint64_t ahead_with_gaps(const FilePlan& plan) noexcept {
  // In parts of 256, and no floating point: the program may have asked for its exceptions.
  constexpr unsigned part = 8;
  constexpr std::uint64_t greatest = 256U << part;
  const std::uint32_t issued = plan.progress->issued.load(std::memory_order_relaxed);
  const std::uint64_t before = plan.progress->asked_before.load(std::memory_order_relaxed);
  const std::uint64_t in_all = plan.progress->asked.load(std::memory_order_relaxed);
  const std::uint64_t asked = in_all - std::min(before, in_all);
  const Extent& last = plan.extents[std::clamp(issued, 1U, plan.count) - 1];
  const std::uint64_t wanted = last.before + last.bytes;
  const std::uint64_t without = ahead(plan);
  const std::uint64_t factor =
      std::clamp(asked / std::max<std::uint64_t>(wanted >> part, 1), std::uint64_t{1} << part, greatest);
  // What is so large is more than any window.
  return without > far_end / greatest ? without : (without * factor) >> part;
}

}  // namespace

bool wants_advice(const FilePlan& plan) noexcept {
  return plan.count != 0 && plan.progress->given_up.load(std::memory_order_relaxed) == not_given_up &&
         std::max(plan.progress->issued.load(std::memory_order_relaxed),
                  plan.progress->cursor.load(std::memory_order_relaxed)) < plan.count &&
         ahead_with_gaps(plan) < plan.window / 2 + 1;
}

}  // namespace dovetail::prefetching
