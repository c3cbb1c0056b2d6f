// Wavefront with oneTBB: a flow graph with a node for each cell and explicit edges. Building and running it are timed
// together, as the other runtimes find their graph while they run; taking it apart is not timed.
#include <deque>
#include <memory>

#include "tasking/onetbb.hpp"
#include "wavefront/wavefront.hpp"

namespace {

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct Graph {
  tbb::flow::graph graph;
  std::deque<Node> nodes;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("wavefront", "onetbb");
  const std::int64_t& side = line.size("side", bench::default_wavefront_side, "cells along an edge");
  line.parse(argc, argv);

  bench::TbbThreads threads(line);
  bench::Wavefront grid(side);
  std::unique_ptr<Graph> built;
  bench::Problem problem = grid.timed([&] {
    threads.execute([&] {
      built = std::make_unique<Graph>();
      auto& nodes = built->nodes;
      const auto node_of = [&](std::int64_t row, std::int64_t column) -> Node& {
        return nodes[static_cast<std::size_t>((row - 1) * side + column - 1)];
      };
      for (std::int64_t row = 1; row <= side; ++row) {
        for (std::int64_t column = 1; column <= side; ++column) {
          auto& cell = grid.cell(row, column);
          const auto& up = grid.cell(row - 1, column);
          const auto& left = grid.cell(row, column - 1);
          nodes.emplace_back(built->graph, [&cell, &up, &left](const tbb::flow::continue_msg&) {
            bench::Wavefront::compute(cell, up, left);
          });
          if (row > 1) tbb::flow::make_edge(node_of(row - 1, column), nodes.back());
          if (column > 1) tbb::flow::make_edge(node_of(row, column - 1), nodes.back());
        }
      }
      nodes.front().try_put(tbb::flow::continue_msg());
      built->graph.wait_for_all();
    });
  });
  const auto reset = problem.prepare;
  problem.prepare = [&, reset] {
    threads.execute([&] { built.reset(); });
    reset();
  };
  const int status = bench::measure_and_finish(line, problem);
  threads.execute([&] { built.reset(); });
  return status;
}
