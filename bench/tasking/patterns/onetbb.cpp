// METG of Task Bench's patterns with oneTBB: a flow graph with a node for each cell, built and run within the measured time.
#include <deque>
#include <memory>

#include "metg/metg.hpp"
#include "patterns/patterns.hpp"
#include "tasking/onetbb.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("patterns", "onetbb");
  bench::Metg metg(line);
  const std::string& name = line.choice("pattern", bench::Pattern::names, "what a point is made from");
  line.parse(argc, argv);

  using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
  bench::TbbThreads threads(line);
  return metg.find([&](std::int64_t steps, std::int64_t points, std::int64_t iterations) {
    auto pattern = std::make_shared<bench::Pattern>(name, steps, points);
    return pattern->timed([&threads, pattern, iterations] {
      threads.execute([&] {
        tbb::flow::graph graph;
        std::deque<Node> nodes;
        std::vector<std::size_t> first;
        for (std::size_t place = 0; place < pattern->places(); ++place) {
          nodes.emplace_back(graph, [&pattern = *pattern, place, iterations](const tbb::flow::continue_msg&) {
            bench::busy_work(iterations);
            pattern.compute(place);
          });
          const auto sources = pattern->sources(place);
          if (sources.empty()) first.push_back(place);
          for (const std::size_t source : sources) tbb::flow::make_edge(nodes[source], nodes.back());
        }
        for (const std::size_t place : first) nodes[place].try_put(tbb::flow::continue_msg());
        graph.wait_for_all();
      });
    });
  });
}
