#include "storage/direct_choice.hpp"

#include <algorithm>

namespace dovetail::storage {

bool DirectChoice::marked(const Marks& marks, std::uint64_t number) noexcept {
  return (marks[number % parts / 64].load(std::memory_order_relaxed) >> (number % 64) & 1) != 0;
}

void DirectChoice::mark(Marks& marks, std::uint64_t number, bool on) noexcept {
  if (marked(marks, number) == on) {
    return;  // a cache line that no thread writes can be shared
  }
  const std::uint64_t bit = std::uint64_t{1} << (number % 64);
  if (on) {
    marks[number % parts / 64].fetch_or(bit, std::memory_order_relaxed);
  } else {
    marks[number % parts / 64].fetch_and(~bit, std::memory_order_relaxed);
  }
}

bool DirectChoice::direct(Kind kind, std::uint64_t offset, std::uint64_t length) noexcept {
  const std::uint64_t first = offset / part;
  const std::uint64_t last = std::min((offset + length - 1) / part, first + parts - 1);
  bool seen = true;
  bool wanted = true;
  for (std::uint64_t number = first; number <= last; ++number) {
    seen = seen && marked(seen_, number);
    wanted = wanted && marked(wanted_, number);
  }
  const bool large = length >= least;
  if (writes(kind)) {
    // Bytes that are read again and again stay where the next read finds them.
    const bool direct = large && !wanted;
    for (std::uint64_t number = first; number <= last; ++number) {
      mark(seen_, number, !direct);  // a direct write drops the pages: the next read is the first
    }
    return direct;
  }
  for (std::uint64_t number = first; number <= last; ++number) {
    if (marked(seen_, number)) {
      mark(wanted_, number, true);
    }
    // Only the transfer that ends a part has read it: pieces of one stream are not reads of the same bytes.
    if (!large || (number + 1) * part <= offset + length) {
      mark(seen_, number, true);
    }
  }
  return large && !seen && !wanted;
}

}  // namespace dovetail::storage
