// Items by priority, in which none waits for ever behind those of higher priority.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>

#include "base/fifo.hpp"

namespace dovetail::base {

/// Which item of a `PriorityFifo` is next: the oldest of the highest priority, or of the next priority below the last one in turn.
enum class Order : std::uint8_t { by_priority, in_turn };

/// Of items that have a `priority` and a `next`. The oldest first among equals. Not thread-safe.
template <class Item>
class PriorityFifo {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  void push(Item& item) {
    levels_[item.priority].push(item);
    ++size_;
  }
  /// Which one `pop` takes; null if it is empty.
  Item* front(Order order = Order::by_priority) const noexcept {
    return empty() ? nullptr : next_level(levels_, order)->second.front();
  }
  Item* pop(Order order = Order::by_priority) noexcept {
    if (empty()) {
      return nullptr;
    }
    const auto level = next_level(levels_, order);
    if (order == Order::in_turn) {
      turn_ = level->first;
    }
    Item* const item = level->second.pop();
    if (level->second.empty()) {
      levels_.erase(level);
    }
    --size_;
    return item;
  }
  /// Takes out those of which `unwanted` says so.
  template <class Unwanted>
  Fifo<Item> take(Unwanted&& unwanted) noexcept {
    Fifo<Item> taken;
    for (auto level = levels_.begin(); level != levels_.end();) {
      Fifo<Item> kept;
      while (Item* item = level->second.pop()) {
        (unwanted(*item) ? taken : kept).push(*item);
      }
      level->second = kept;
      level = kept.empty() ? levels_.erase(level) : std::next(level);
    }
    size_ -= taken.size();
    return taken;
  }

 private:
  // Of levels of which there is at least one.
  template <class Levels>
  auto next_level(Levels& levels, Order order) const noexcept {
    const auto level = order == Order::in_turn ? levels.upper_bound(turn_) : levels.begin();
    return level != levels.end() ? level : levels.begin();
  }

  std::map<std::int32_t, Fifo<Item>, std::greater<>> levels_;  // none is empty
  std::size_t size_ = 0;
  std::int32_t turn_ = 0;
};

}  // namespace dovetail::base
