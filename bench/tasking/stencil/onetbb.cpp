// 1-D stencil with oneTBB: a flow graph with a node for each point and step. The three edges from the step before also
// keep a point from being overwritten too early, since its readers are exactly those three. Building and running the
// graph are timed together; taking it apart is not timed.
#include <deque>
#include <memory>

#include "stencil/stencil.hpp"
#include "tasking/onetbb.hpp"

namespace {

using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

struct Graph {
  tbb::flow::graph graph;
  std::deque<Node> nodes;
};

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("stencil", "onetbb");
  const std::int64_t& steps = line.size("steps", bench::default_stencil_steps, "generations to compute");
  const std::int64_t& points = line.size("points", bench::default_stencil_points, "points of a generation");
  line.parse(argc, argv);

  bench::TbbThreads threads(line);
  bench::Stencil field(steps, points);
  std::unique_ptr<Graph> built;
  bench::Problem problem = field.timed([&] {
    threads.execute([&] {
      built = std::make_unique<Graph>();
      auto& nodes = built->nodes;
      for (std::int64_t step = 1; step <= steps; ++step) {
        for (std::int64_t point = 0; point < points; ++point) {
          auto& next = field.cell(step, point);
          const auto& left = field.cell(step - 1, point - 1);
          const auto& middle = field.cell(step - 1, point);
          const auto& right = field.cell(step - 1, point + 1);
          nodes.emplace_back(built->graph, [&next, &left, &middle, &right](const tbb::flow::continue_msg&) {
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
