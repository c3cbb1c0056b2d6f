// Room in a vector ahead of a change that must not fail half way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dovetail::base {

/// Room for `wanted` items. Unlike `reserve` it grows in steps that double, so that asking for one more again and again costs a constant each.
/// @throws std::bad_alloc
template <class Item>
void make_room(std::vector<Item>& items, std::size_t wanted) {
  if (items.capacity() < wanted) {
    items.reserve(std::max(wanted, 2 * items.capacity()));
  }
}

}  // namespace dovetail::base
