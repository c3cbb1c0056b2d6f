// One wait for notifications.
#pragma once

#include <cstdint>
#include <string>

#include "comm/rma/waiter.hpp"

namespace dovetail::comm::rma {

inline constexpr int any_rank = -1;

struct Await : Waiter {
  std::uint8_t segment = 0;
  bool for_any = false;  ///< The first of the range ends it.
  int from = any_rank;   ///< Whose end is a failure; any rank: that of each.
  std::uint32_t first = 0;
  std::uint32_t count = 1;          ///< Of the range.
  std::uint32_t* values = nullptr;  ///< Where the values go, one for each of the range; null: nowhere.

  std::uint32_t left = 0;   ///< How many have not come.
  std::uint32_t found = 0;  ///< The one that has ended it, and its value, if it was for any.
  std::uint32_t found_value = 0;

  bool covers(std::uint32_t id) const noexcept { return id >= first && id - first < count; }
  /// "notification 5 of segment 1 from rank 2"
  std::string text() const override;
};

}  // namespace dovetail::comm::rma
