// Items by priority, in which none waits for ever behind those of higher priority.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>

#include "base/fifo.hpp"

namespace dovetail::base {

/// Of items that have a `priority` and a `next`. Highest priority first, oldest first among equals; or, where the user says so, *in turn*: the
/// oldest of the next lower priority than the last one in turn. Not thread-safe.
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
  Item* front(bool in_turn = false) const noexcept {
    return empty() ? nullptr : levels_.at(priority_of_next(in_turn)).front();
  }
  Item* pop(bool in_turn = false) noexcept {
    if (empty()) {
      return nullptr;
    }
    const auto level = levels_.find(priority_of_next(in_turn));
    if (in_turn) {
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
  // Of one that is not empty.
  std::int32_t priority_of_next(bool in_turn) const noexcept {
    const auto level = in_turn ? levels_.upper_bound(turn_) : levels_.begin();
    return level != levels_.end() ? level->first : levels_.begin()->first;
  }

  std::map<std::int32_t, Fifo<Item>, std::greater<>> levels_;  // none is empty
  std::size_t size_ = 0;
  std::int32_t turn_ = 0;
};

}  // namespace dovetail::base
