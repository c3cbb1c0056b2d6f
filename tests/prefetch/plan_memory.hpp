// A plan in memory, as `dovetail run --plan` makes it.
#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

class PlanMemory {
 public:
  struct Run {
    std::uint64_t offset;
    std::uint64_t bytes;
  };
  static constexpr std::uint64_t size = std::uint64_t{1} << 40;

  std::uint64_t window = std::uint64_t{1} << 20;
  std::uint32_t piece = 1U << 17;
  std::uint32_t gap = 0;

  /// Files in the order of their inodes, 1 and up.
  PlanMemory& file(const std::vector<Run>& runs) {
    files_.push_back(runs);
    return *this;
  }
  /// Valid as long as this object, until the next call.
  Plan plan() {
    bytes_.clear();
    std::uint64_t extents = 0;
    for (const auto& runs : files_) {
      extents += runs.size();
    }
    put(std::vector<std::uint64_t>{Plan::magic, 0, files_.size(), extents, 0, 0, 0, 0});
    std::uint64_t first = 0;
    for (std::size_t number = 0; number < files_.size(); ++number) {
      put(std::vector<std::uint64_t>{7, number + 1, size, 100, 5, first});
      put(std::vector<std::uint32_t>{static_cast<std::uint32_t>(files_[number].size()), piece, gap,
                                     static_cast<std::uint32_t>(window / 4096)});
      first += files_[number].size();
    }
    for (const auto& runs : files_) {
      std::uint64_t before = 0;
      for (const Run& run : runs) {
        put(std::vector<std::uint64_t>{run.offset, run.bytes, before});
        before += run.bytes;
      }
    }
    bytes_.resize(bytes_.size() + files_.size() * sizeof(Progress));
    for (const auto& runs : files_) {
      std::vector<std::uint32_t> order(runs.size());
      std::iota(order.begin(), order.end(), 0U);
      std::ranges::sort(order, {}, [&](std::uint32_t run) { return runs[run].offset; });
      put(order);
    }
    bytes_.resize(bytes_.size() + extents);
    const std::uint64_t all = bytes_.size();
    std::memcpy(bytes_.data() + 8, &all, sizeof all);
    return Plan::in(bytes_.data(), bytes_.size());
  }
  FilePlan only() { return plan().file(0); }
  std::vector<std::byte>& bytes() noexcept { return bytes_; }

 private:
  template <class Number>
  void put(const std::vector<Number>& numbers) {
    const auto* begin = reinterpret_cast<const std::byte*>(numbers.data());
    bytes_.insert(bytes_.end(), begin, begin + numbers.size() * sizeof(Number));
  }

  std::vector<std::vector<Run>> files_;
  std::vector<std::byte> bytes_;
};

}  // namespace dovetail::prefetching
