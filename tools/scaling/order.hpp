// The order that accesses give to the tasks of one rank, as docs/design/dependencies.md says for regions that match exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "graph.hpp"

namespace scaling {

class Order {
 public:
  /// Regions are numbers below `regions`. `by_return`: as of an edge.
  Order(Graph& graph, std::size_t regions, bool by_return = false)
      : graph_(graph), regions_(regions), by_return_(by_return) {}

  void reads(std::uint32_t task, std::size_t region) {
    Region& at = regions_[region];
    add(at.writer, task);
    at.readers.push_back(task);
  }
  void writes(std::uint32_t task, std::size_t region) {
    Region& at = regions_[region];
    if (at.readers.empty()) {
      add(at.writer, task);
    }
    for (const std::uint32_t reader : at.readers) {
      add(reader, task);
    }
    at.readers.clear();
    at.writer = task;
  }

 private:
  struct Region {
    std::uint32_t writer = no_task;
    std::vector<std::uint32_t> readers;
  };
  void add(std::uint32_t before, std::uint32_t after) {
    if (before != no_task && before != after) {
      graph_.edges.push_back({before, after, by_return_});
    }
  }

  Graph& graph_;
  std::vector<Region> regions_;
  bool by_return_;
};

}  // namespace scaling
