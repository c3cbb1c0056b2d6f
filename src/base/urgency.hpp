// The order of requests that wait for one thing. First come those of the program itself, then those that move its data on, then those that
// may never be needed.
#pragma once

#include <array>
#include <cstddef>

#include "base/fifo.hpp"
#include "dovetail/urgency.hpp"

namespace dovetail::base {

using dovetail::Urgency;

/// A queue of items that have an `urgency` and a `next`. The more urgent go first, those of one urgency in the order in which they came.
/// None starves: the foremost drain is overtaken by at most 8 items of the program, the foremost prefetch by at most 16 others. (Where both
/// have waited for so long, the prefetch goes first, so the drain may have to wait for that one, too.) Not thread-safe.
template <class Item>
class UrgencyQueue {
 public:
  static constexpr unsigned urgencies = 3;
  /// How many of a more urgent kind go before the foremost one of each.
  static constexpr std::array<unsigned, urgencies> most_overtaking{0, 8, 16};

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return queues_[0].size() + queues_[1].size() + queues_[2].size(); }
  void push(Item& item) noexcept { queues_[static_cast<unsigned>(item.urgency)].push(item); }
  /// Which one `pop` takes; null if it is empty.
  Item* front() const noexcept { return empty() ? nullptr : queues_[next()].front(); }
  Item* pop() noexcept {
    if (empty()) {
      return nullptr;
    }
    const unsigned taken = next();
    overtaken_[taken] = 0;
    for (unsigned lower = taken + 1; lower < urgencies; ++lower) {
      overtaken_[lower] += queues_[lower].empty() ? 0 : 1;
    }
    return queues_[taken].pop();
  }
  /// Takes out those of which `unwanted` says so.
  template <class Unwanted>
  Fifo<Item> take(Unwanted&& unwanted) noexcept {
    Fifo<Item> taken;
    for (unsigned urgency = 0; urgency < urgencies; ++urgency) {
      Fifo<Item> kept;
      while (Item* item = queues_[urgency].pop()) {
        (unwanted(*item) ? taken : kept).push(*item);
      }
      queues_[urgency] = kept;
      overtaken_[urgency] = kept.empty() ? 0 : overtaken_[urgency];
    }
    return taken;
  }

 private:
  // Of a queue that is not empty.
  unsigned next() const noexcept {
    for (unsigned urgency = urgencies - 1; urgency > 0; --urgency) {
      if (!queues_[urgency].empty() && overtaken_[urgency] >= most_overtaking[urgency]) {
        return urgency;
      }
    }
    return !queues_[0].empty() ? 0 : !queues_[1].empty() ? 1 : 2;
  }

  std::array<Fifo<Item>, urgencies> queues_;
  std::array<unsigned, urgencies> overtaken_{};
};

}  // namespace dovetail::base
