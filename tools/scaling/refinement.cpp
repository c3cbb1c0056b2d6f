#include "refinement.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exchange.hpp"
#include "object.hpp"
#include "order.hpp"
#include "pieces.hpp"
#include "tree.hpp"

namespace scaling {
namespace {

using ::refinement::Exchange;
using ::refinement::FaceMessage;
using ::refinement::Piece;
using ::refinement::Shape;
using ::refinement::Shares;
using ::refinement::Tree;

Shape shape_of(const Refinement& refinement) { return {refinement.edge, refinement.variables}; }

// By the place of the sphere after so many turns. What each rank finds of its own blocks, one program finds of all.
Tree follow(const Tree& tree, const Refinement& refinement, std::uint32_t turn) {
  const ::refinement::Object object(refinement.radius, static_cast<int>(turn),
                                    static_cast<int>(refinement.refinements));
  std::vector<::refinement::Mark> marks;
  marks.reserve(tree.size());
  for (std::size_t block = 0; block < tree.size(); ++block) {
    marks.push_back(mark_of(object, tree.cube(block), refinement.coarsest, refinement.finest));
  }
  return tree.refined(marks);
}

Tree tree_of(const Refinement& refinement) {
  Tree tree(refinement.coarsest);
  for (int level = refinement.coarsest; level < refinement.finest; ++level) {
    tree = follow(tree, refinement, 0);
  }
  for (std::uint32_t turn = 1; turn <= refinement.turn; ++turn) {
    tree = follow(tree, refinement, turn);
  }
  return tree;
}

// The tasks of the stages of one rank.
class RankOfStages {
 public:
  RankOfStages(const Refinement& refinement, Graph& graph, const Tree& tree, std::uint32_t rank)
      : refinement_(refinement),
        graph_(graph),
        rank_(rank),
        exchange_(tree, Shares(tree.size(), static_cast<int>(refinement.ranks)), static_cast<int>(rank)),
        order_(graph,
               is_sequential() ? 1
                               : 2 * (exchange_.blocks() + exchange_.arrivals().size() + exchange_.departures().size()),
               is_sequential()),
        update_seconds_(cost_of(refinement.costs, "update")),
        face_seconds_(cost_of(refinement.costs, "face")),
        sum_seconds_(cost_of(refinement.costs, "add up")),
        senders_(std::size_t{refinement.stages} * exchange_.departures().size(), no_task),
        receivers_(std::size_t{refinement.stages} * exchange_.arrivals().size(), no_task) {}

  void add_tasks() {
    switch (refinement_.variant) {
      case Variant::messages_only:
        return add_sequence();
      case Variant::two_sided:
        return add_tasks_for_faces();
      case Variant::one_sided:
        return add_tasks_that_write();
    }
  }

  const Exchange& exchange() const { return exchange_; }
  // The tasks that send and receive a face before a stage. `place`: of the message in its list.
  std::uint32_t& sender(std::uint32_t stage, std::size_t place) {
    return senders_[stage * exchange_.departures().size() + place];
  }
  std::uint32_t& receiver(std::uint32_t stage, std::size_t place) {
    return receivers_[stage * exchange_.arrivals().size() + place];
  }

 private:
  bool is_sequential() const { return refinement_.variant == Variant::messages_only; }
  bool is_last(std::uint32_t stage) const { return stage + 1 == refinement_.stages; }
  bool is_outer(std::size_t block) const { return !exchange_.arrivals_of(block).empty(); }

  // What accesses name. Each has a place for even stages and one for odd ones.
  std::size_t values(std::uint32_t stage, std::size_t block) const { return 2 * block + stage % 2; }
  std::size_t arrived(std::uint32_t stage, std::size_t place) const {
    return 2 * (exchange_.blocks() + place) + stage % 2;
  }
  std::size_t departing(std::uint32_t stage, std::size_t place) const {
    return 2 * (exchange_.blocks() + exchange_.arrivals().size() + place) + stage % 2;
  }

  double seconds_of_face(std::size_t place) const {
    const Shape shape = shape_of(refinement_);
    return face_seconds_ * static_cast<double>(exchange_.departures()[place].face.cells(shape)) /
           static_cast<double>(shape.cells_of_side());
  }
  double seconds_of_faces(std::size_t block) const {
    double sum = 0;
    for (const std::size_t place : exchange_.departures_of(block)) sum += seconds_of_face(place);
    return sum;
  }

  std::uint32_t add(const char* name, double cost, std::uint8_t priority = 0, bool ends_by_message = false) {
    graph_.tasks.push_back({rank_, graph_.name(name), priority, ends_by_message, cost});
    return static_cast<std::uint32_t>(graph_.tasks.size() - 1);
  }
  void sends(std::uint32_t task, std::uint32_t stage, std::size_t block) {
    for (const std::size_t place : exchange_.departures_of(block)) sender(stage, place) = task;
  }
  void receives(std::uint32_t task, std::uint32_t stage, std::size_t block) {
    for (const std::size_t place : exchange_.arrivals_of(block)) receiver(stage, place) = task;
  }

  // What `update` does with the field.
  void accesses(std::uint32_t task, std::uint32_t stage, std::size_t block) {
    order_.reads(task, values(stage, block));
    for (const Exchange::Source& source : exchange_.sources(block)) {
      if (source.is_here) order_.reads(task, values(stage, source.place));
    }
    order_.writes(task, values(stage + 1, block));
  }
  void add_sums() {
    for (std::size_t block = 0; block < exchange_.blocks(); ++block) {
      order_.reads(add("add up", sum_seconds_), values(refinement_.stages, block));
    }
  }

  void add_tasks_for_faces() {
    for (std::uint32_t stage = 0; stage < refinement_.stages; ++stage) {
      for (std::size_t place = 0; place < exchange_.arrivals().size(); ++place) {
        const std::uint32_t task = add("receive face", 0, message_priority, true);
        order_.writes(task, arrived(stage, place));
        receiver(stage, place) = task;
      }
      for (std::size_t place = 0; place < exchange_.departures().size(); ++place) {
        const std::uint32_t task = add("send face", seconds_of_face(place), message_priority);
        order_.reads(task, values(stage, exchange_.departures()[place].block));
        order_.writes(task, departing(stage, place));
        sender(stage, place) = task;
      }
      for (std::size_t block = 0; block < exchange_.blocks(); ++block) {
        const std::uint32_t task = add("update", update_seconds_);
        for (const std::size_t place : exchange_.arrivals_of(block)) order_.reads(task, arrived(stage, place));
        accesses(task, stage, block);
      }
    }
    add_sums();
  }

  void add_tasks_that_write() {
    for (std::size_t block = 0; block < exchange_.blocks(); ++block) {
      if (!exchange_.departures_of(block).empty()) {
        const std::uint32_t task = add("write faces", seconds_of_faces(block), message_priority);
        order_.reads(task, values(0, block));
        sends(task, 0, block);
      }
    }
    for (std::uint32_t stage = 0; stage < refinement_.stages; ++stage) {
      for (std::size_t block = 0; block < exchange_.blocks(); ++block) {
        if (!is_outer(block)) {
          accesses(add("update", update_seconds_), stage, block);
          continue;
        }
        const double writing = is_last(stage) ? 0 : seconds_of_faces(block);
        const std::uint32_t task = add("update and write", update_seconds_ + writing, message_priority);
        accesses(task, stage, block);
        receives(task, stage, block);
        if (!is_last(stage)) sends(task, stage + 1, block);
      }
    }
    add_sums();
  }

  // One body after the other: the blocks that need no message in one, each of the others in one.
  void add_sequence() {
    const auto next = [this](const char* name, double cost) {
      const std::uint32_t task = add(name, cost);
      order_.writes(task, 0);
      return task;
    };
    std::size_t inner = 0;
    for (std::size_t block = 0; block < exchange_.blocks(); ++block) {
      if (!is_outer(block)) {
        ++inner;
        continue;
      }
      sends(next("send faces", seconds_of_faces(block)), 0, block);
    }
    for (std::uint32_t stage = 0; stage < refinement_.stages; ++stage) {
      if (inner > 0) next("update inner", update_seconds_ * static_cast<double>(inner));
      for (std::size_t block = 0; block < exchange_.blocks(); ++block) {
        if (!is_outer(block)) continue;
        const double sending = is_last(stage) ? 0 : seconds_of_faces(block);
        const std::uint32_t task = next("update and send", update_seconds_ + sending);
        receives(task, stage, block);
        if (is_last(stage)) continue;
        sends(task, stage + 1, block);
        // MPI has sent what the memory held before.
        if (stage > 0) graph_.edges.push_back({sender(stage - 1, exchange_.departures_of(block).front()), task});
      }
    }
    const std::uint32_t sums = next("add up", sum_seconds_ * static_cast<double>(exchange_.blocks()));
    for (std::uint32_t stage = refinement_.stages - std::min(refinement_.stages, 2U); stage < refinement_.stages;
         ++stage) {
      for (std::size_t block = 0; block < exchange_.blocks(); ++block) {
        if (is_outer(block)) {
          graph_.edges.push_back({sender(stage, exchange_.departures_of(block).front()), sums});
        }
      }
    }
  }

  const Refinement& refinement_;
  Graph& graph_;
  std::uint32_t rank_;
  Exchange exchange_;
  Order order_;
  double update_seconds_;
  double face_seconds_;
  double sum_seconds_;
  std::vector<std::uint32_t> senders_;
  std::vector<std::uint32_t> receivers_;
};

void connect(Graph& graph, const Refinement& refinement, std::vector<RankOfStages>& ranks) {
  const Shape shape = shape_of(refinement);
  // Of the rank that sends and the one that receives, the places in the latter's list, by the numbers of messages.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> places;
  for (std::uint32_t rank = 0; rank < refinement.ranks; ++rank) {
    const auto arrivals = ranks[rank].exchange().arrivals();
    for (std::size_t place = 0; place < arrivals.size(); ++place) {
      places[{static_cast<std::uint32_t>(arrivals[place].rank), rank}].push_back(place);
    }
  }
  for (std::uint32_t rank = 0; rank < refinement.ranks; ++rank) {
    const auto departures = ranks[rank].exchange().departures();
    for (std::size_t place = 0; place < departures.size(); ++place) {
      const FaceMessage& message = departures[place];
      const auto to = static_cast<std::uint32_t>(message.rank);
      const std::size_t there = places.at({rank, to}).at(static_cast<std::size_t>(message.number));
      const std::uint64_t bytes = message.face.values(shape) * sizeof(double);
      for (std::uint32_t stage = 0; stage < refinement.stages; ++stage) {
        // A notification is known by the place of the face where it comes.
        const auto tag = refinement.variant == Variant::one_sided
                             ? static_cast<std::uint32_t>(2 * there + stage % 2)
                             : static_cast<std::uint32_t>(message.tag(static_cast<int>(stage)));
        graph.messages.push_back(
            {rank, to, ranks[rank].sender(stage, place), ranks[to].receiver(stage, there), tag, bytes});
      }
    }
  }
}

Graph stages_graph(const Refinement& refinement, const Tree& tree) {
  Graph graph;
  graph.variant = refinement.variant;
  graph.ranks = refinement.ranks;
  std::vector<RankOfStages> ranks;
  ranks.reserve(refinement.ranks);
  for (std::uint32_t rank = 0; rank < refinement.ranks; ++rank) {
    ranks.emplace_back(refinement, graph, tree, rank);
    ranks.back().add_tasks();
  }
  connect(graph, refinement, ranks);
  return graph;
}

// What one rank does with pieces when the mesh changes. Lists have the order of the new mesh.
struct RankOfMoves {
  struct End {
    std::uint32_t rank;  // the other one
    std::uint32_t number;
    Piece piece;
  };
  std::vector<Piece> stays;
  std::vector<End> arrivals;
  std::vector<End> departures;
};

std::vector<RankOfMoves> moves_of(const Refinement& refinement, const Tree& before, const Tree& after) {
  const Shares old_shares(before.size(), static_cast<int>(refinement.ranks));
  const Shares new_shares(after.size(), static_cast<int>(refinement.ranks));
  std::vector<RankOfMoves> ranks(refinement.ranks);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
  for (std::size_t block = 0; block < after.size(); ++block) {
    const auto to = static_cast<std::uint32_t>(new_shares.owner(block));
    for (const Piece& piece : pieces_of(before, after, block)) {
      const auto from = static_cast<std::uint32_t>(old_shares.owner(piece.from));
      if (from == to) {
        ranks[to].stays.push_back(piece);
        continue;
      }
      const std::uint32_t number = numbers[{from, to}]++;
      ranks[to].arrivals.push_back({from, number, piece});
      ranks[from].departures.push_back({to, number, piece});
    }
  }
  return ranks;
}

// Pieces have nothing to do with each other. Without tasks, one body comes after the other.
Graph moves_graph(const Refinement& refinement, const Tree& before) {
  const Shape shape = shape_of(refinement);
  const double piece_seconds = cost_of(refinement.costs, "piece");
  Graph graph;
  graph.variant = refinement.variant;
  graph.ranks = refinement.ranks;
  const bool is_sequential = refinement.variant == Variant::messages_only;
  const auto seconds_of = [&](const Piece& piece) {
    return piece_seconds * static_cast<double>(piece.values(shape)) / static_cast<double>(shape.values());
  };
  using Key = std::pair<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;
  std::map<Key, std::size_t> messages;
  const std::vector<RankOfMoves> ranks = moves_of(refinement, before, follow(before, refinement, refinement.turn + 1));
  for (std::uint32_t rank = 0; rank < refinement.ranks; ++rank) {
    Order order(graph, 1, true);
    const auto add = [&](const char* name, const Piece& piece, std::uint8_t priority) {
      const auto task = static_cast<std::uint32_t>(graph.tasks.size());
      graph.tasks.push_back({rank, graph.name(name), priority, false, seconds_of(piece)});
      if (is_sequential) order.writes(task, 0);
      return task;
    };
    // The first end that is found makes the message.
    const auto message_of = [&](std::uint32_t from, std::uint32_t to, const RankOfMoves::End& end) -> Message& {
      const auto [found, is_new] = messages.try_emplace({{from, to}, end.number}, graph.messages.size());
      if (is_new) {
        graph.messages.push_back({from, to, no_task, no_task, end.number, end.piece.values(shape) * sizeof(double)});
      }
      return graph.messages[found->second];
    };
    const auto add_stays = [&] {
      for (const Piece& piece : ranks[rank].stays) add("keep piece", piece, 0);
    };
    for (const RankOfMoves::End& end : ranks[rank].departures) {
      message_of(rank, end.rank, end).from_task = add("send piece", end.piece, message_priority);
    }
    if (is_sequential) add_stays();
    for (const RankOfMoves::End& end : ranks[rank].arrivals) {
      message_of(end.rank, rank, end).to_task = add("receive piece", end.piece, 0);
    }
    if (!is_sequential) add_stays();
  }
  return graph;
}

// In the variants that write into the memory of others. What the program tells for each face is 16 bytes.
Graph agreement_graph(const Refinement& refinement, const Tree& tree) {
  constexpr std::uint64_t bytes_of_slot = 16;
  Graph graph;
  graph.variant = refinement.variant;
  graph.ranks = refinement.ranks;
  const Shares shares(tree.size(), static_cast<int>(refinement.ranks));
  const auto tell = [](std::uint32_t rank) { return 2 * rank; };
  const auto hear = [](std::uint32_t rank) { return 2 * rank + 1; };
  for (std::uint32_t rank = 0; rank < refinement.ranks; ++rank) {
    graph.tasks.push_back({rank, graph.name("tell"), 0, false, 0});
    graph.tasks.push_back({rank, graph.name("hear"), 0, false, 0});
    graph.edges.push_back({tell(rank), hear(rank)});
    const Exchange exchange(tree, shares, static_cast<int>(rank));
    std::map<std::uint32_t, std::uint64_t> faces;
    for (const FaceMessage& message : exchange.arrivals()) ++faces[static_cast<std::uint32_t>(message.rank)];
    for (const auto& [other, count] : faces) {
      graph.messages.push_back({rank, other, tell(rank), hear(other), 0, count * bytes_of_slot});
    }
  }
  return graph;
}

void check(const Refinement& refinement) {
  if (refinement.edge % 2 != 0 || refinement.edge < 2 || refinement.edge > Shape::longest_edge) {
    throw BadInput("the edge of a block must be an even number from 2 to " + std::to_string(Shape::longest_edge));
  }
  if (refinement.finest < refinement.coarsest) {
    throw BadInput("the finest level is " + std::to_string(refinement.finest) +
                   ", but must not be below the coarsest, " + std::to_string(refinement.coarsest));
  }
  const std::uint64_t least = std::uint64_t{1} << static_cast<unsigned>(3 * refinement.coarsest);
  if (least < refinement.ranks) {
    throw BadInput("there may be as few as " + std::to_string(least) + " blocks for " +
                   std::to_string(refinement.ranks) + " ranks: choose a higher coarsest level or fewer ranks");
  }
  const bool moves = refinement.part == RefinementPart::moves;
  if (refinement.turn + (moves ? 1 : 0) > refinement.refinements) {
    throw BadInput((moves ? "what moves behind turn " : "turn ") + std::to_string(refinement.turn) +
                   " comes after the last of " + std::to_string(refinement.refinements) + " refinements");
  }
}

}  // namespace

RefinementPart part_of(const std::string& name) {
  if (name == "stages") return RefinementPart::stages;
  if (name == "moves") return RefinementPart::moves;
  if (name == "agreement") return RefinementPart::agreement;
  throw BadInput("the part is '" + name + "', but must be stages, moves or agreement");
}

Graph refinement_graph(const Refinement& refinement) {
  check(refinement);
  const Tree tree = tree_of(refinement);
  switch (refinement.part) {
    case RefinementPart::stages:
      return stages_graph(refinement, tree);
    case RefinementPart::moves:
      return moves_graph(refinement, tree);
    case RefinementPart::agreement:
      return agreement_graph(refinement, tree);
  }
  return {};
}

std::uint64_t blocks_of(const Refinement& refinement) {
  check(refinement);
  return tree_of(refinement).size();
}

}  // namespace scaling
