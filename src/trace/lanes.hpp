// Things that overlap in time, each on the lowest lane that is free.
#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

namespace dovetail::trace {

class Lanes {
 public:
  std::size_t take() {
    if (free_.empty()) return count_++;
    const std::size_t lane = free_.top();
    free_.pop();
    return lane;
  }
  void give_back(std::size_t lane) { free_.push(lane); }

 private:
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free_;
  std::size_t count_ = 0;
};

}  // namespace dovetail::trace
