#include "plan.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

namespace dovetail::tiom {

Plan::Plan(const Point& point, std::uint64_t file_size, std::uint64_t seed)
    : block_(point.block), operations_(point.operations) {
  if (block_ == 0 || file_size < block_) {
    throw std::invalid_argument("the file is smaller than one block");
  }
  order_.resize(file_size / block_);
  std::iota(order_.begin(), order_.end(), std::uint64_t{0});
  if (is_random(point.pattern)) {
    // Not std::shuffle, whose result differs between libraries: the same seed must mean the same order everywhere.
    std::mt19937_64 random(seed);
    for (std::uint64_t left = order_.size(); left > 1; --left) {
      std::swap(order_[left - 1], order_[random() % left]);
    }
  }
  if (operations_ == 0) {
    operations_ = order_.size();
  }
  const std::uint64_t width = transfers_per_round(point.mode);
  rounds_ = (operations_ + width - 1) / width;
}

}  // namespace dovetail::tiom
