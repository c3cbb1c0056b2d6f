// METG with oneTBB: a flow graph with a node for each point and step, built and run within the measured time.
#include <deque>
#include <memory>

#include "metg/metg.hpp"
#include "stencil/stencil.hpp"
#include "tasking/onetbb.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("metg", "onetbb");
  bench::Metg metg(line);
  line.parse(argc, argv);

  using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
  bench::TbbThreads threads(line);
  return metg.find([&](std::int64_t steps, std::int64_t points, std::int64_t iterations) {
    auto stencil = std::make_shared<bench::Stencil>(steps, points);
    const auto solve = [stencil, steps, points, iterations] {
      bench::Stencil& field = *stencil;
      tbb::flow::graph graph;
      std::deque<Node> nodes;
      for (std::int64_t step = 1; step <= steps; ++step) {
        for (std::int64_t point = 0; point < points; ++point) {
          auto& next = field.cell(step, point);
          const auto& left = field.cell(step - 1, point - 1);
          const auto& middle = field.cell(step - 1, point);
          const auto& right = field.cell(step - 1, point + 1);
          nodes.emplace_back(graph, [&next, &left, &middle, &right, iterations](const tbb::flow::continue_msg&) {
            bench::busy_work(iterations);
            bench::Stencil::compute(next, left, middle, right);
          });
          if (step == 1) continue;
          const std::int64_t row = (step - 2) * points;
          for (const std::int64_t neighbour : {point == 0 ? points - 1 : point - 1, point, (point + 1) % points}) {
            tbb::flow::make_edge(nodes[static_cast<std::size_t>(row + neighbour)], nodes.back());
          }
        }
      }
      for (std::int64_t point = 0; point < points; ++point) {
        nodes[static_cast<std::size_t>(point)].try_put(tbb::flow::continue_msg());
      }
      graph.wait_for_all();
    };
    return stencil->timed([&threads, solve] { threads.execute(solve); });
  });
}
