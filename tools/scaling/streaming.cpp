#include "streaming.hpp"

#include <string>
#include <vector>

#include "order.hpp"

namespace scaling {
namespace {

// The tasks of one rank: that of a block of a chunk has the number `first + chunk * blocks + block`.
struct Stage {
  std::uint32_t first = 0;
  std::uint32_t blocks = 0;
  std::uint32_t task(std::uint32_t chunk, std::uint32_t block) const { return first + chunk * blocks + block; }
};

Stage add_stage(Graph& graph, const Streaming& streaming, std::uint32_t rank, std::uint32_t blocks, double seconds) {
  const Stage made{static_cast<std::uint32_t>(graph.tasks.size()), blocks};
  const bool is_sequential = streaming.variant == Variant::messages_only;
  Order order(graph, is_sequential ? 1 : blocks, is_sequential);
  for (std::uint32_t chunk = 0; chunk < streaming.chunks; ++chunk) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      graph.tasks.push_back({rank, graph.name("block"), 0, false, seconds});
      order.writes(made.task(chunk, block), is_sequential ? 0 : block);
      if (is_sequential && chunk > 0) {
        // MPI has sent what the buffer of the block held before.
        graph.edges.push_back({made.task(chunk - 1, block), made.task(chunk, block)});
      }
    }
  }
  return made;
}

}  // namespace

Graph streaming_graph(const Streaming& streaming) {
  const std::uint32_t stages = streaming.stages == 0 ? streaming.ranks : streaming.stages;
  if (streaming.ranks < 2 || streaming.ranks % stages != 0 || streaming.blocks < streaming.ranks / stages ||
      streaming.chunks == 0) {
    throw BadInput(
        "a chain of streaming has 2 ranks or more, shared out evenly among the stages, with a block or more for each");
  }
  const double seconds = cost_of(streaming.costs, "block");
  const std::uint32_t lanes = streaming.ranks / stages;
  Graph graph;
  graph.variant = streaming.variant;
  graph.ranks = streaming.ranks;
  std::vector<Stage> made;
  for (std::uint32_t rank = 0; rank < streaming.ranks; ++rank) {
    const std::uint32_t lane = rank % lanes;
    const auto before = [&](std::uint32_t some) { return std::uint64_t{streaming.blocks} * some / lanes; };
    const auto blocks = static_cast<std::uint32_t>(before(lane + 1) - before(lane));
    made.push_back(add_stage(graph, streaming, rank, blocks, seconds));
  }
  for (std::uint32_t rank = 0; rank + lanes < streaming.ranks; ++rank) {
    const std::uint32_t next = rank + lanes;
    for (std::uint32_t chunk = 0; chunk < streaming.chunks; ++chunk) {
      for (std::uint32_t block = 0; block < made[rank].blocks; ++block) {
        const std::uint32_t sender = made[rank].task(chunk, block);
        const std::uint32_t receiver = made[next].task(chunk, block);
        graph.messages.push_back({rank, next, sender, receiver, block, streaming.block_bytes});
        // The place may be written once more.
        if (streaming.variant == Variant::one_sided && chunk + 1 < streaming.chunks) {
          graph.messages.push_back(
              {next, rank, receiver, made[rank].task(chunk + 1, block), made[rank].blocks + block, 0});
        }
      }
    }
  }
  return graph;
}

}  // namespace scaling
