// An intrusive first-in-first-out queue.
#pragma once

#include <cstddef>

namespace dovetail::base {

/// Of items that have a `next`, which is the queue's while they are in it. Not thread-safe.
template <class Item>
class Fifo {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  Item* front() const noexcept { return first_; }
  void push(Item& item) noexcept {
    item.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &item;
    last_ = &item;
    ++size_;
  }
  /// Null if it is empty.
  Item* pop() noexcept {
    Item* const item = first_;
    if (item != nullptr) {
      first_ = item->next;
      --size_;
    }
    return item;
  }

 private:
  Item* first_ = nullptr;
  Item* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dovetail::base
