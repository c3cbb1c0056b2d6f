#include "trace/ring.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace dovetail::trace {

namespace {

// Not from the heap, which would touch every page to clear it.
std::uint64_t* map_words(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::uint64_t*>(memory);
}

}  // namespace

Ring::Ring(std::size_t capacity) : capacity_(capacity), words_(map_words(capacity * sizeof(Event))) {}

Ring::~Ring() { munmap(words_, capacity_ * sizeof(Event)); }

std::uint64_t Ring::read(std::vector<Event>& events) const {
  // The slot after the newest event may be half written at any time, so the event it held counts as gone.
  const auto oldest_whole = [this](std::uint64_t written) { return written < capacity_ ? 0 : written - capacity_ + 1; };
  const std::uint64_t first = first_.load(std::memory_order_acquire);
  const std::uint64_t end = written_.load(std::memory_order_acquire);
  const std::uint64_t begin = std::max(first, oldest_whole(end));
  const auto offset = static_cast<std::ptrdiff_t>(events.size());
  events.reserve(events.size() + (end - begin));
  for (std::uint64_t number = begin; number < end; ++number) {
    std::uint64_t* words = slot(number);
    events.push_back({load(words[0]), load(words[1]), load(words[2]), load(words[3])});
  }
  // What the owner overwrote while we read.
  const std::uint64_t kept = std::clamp(oldest_whole(written_.load(std::memory_order_acquire)), begin, end);
  const auto copied = events.begin() + offset;
  events.erase(copied, copied + static_cast<std::ptrdiff_t>(kept - begin));
  return kept - first;
}

}  // namespace dovetail::trace
