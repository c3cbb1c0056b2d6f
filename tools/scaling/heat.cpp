#include "heat.hpp"

#include <algorithm>
#include <deque>
#include <string>

#include "order.hpp"

namespace scaling {
namespace {

constexpr std::uint32_t bytes_of_cell = 8;

// The blocks of one rank, and which of its tasks send which messages to the neighbours.
class RankOfHeat {
 public:
  RankOfHeat(const Heat& heat, Graph& graph, std::uint32_t rank)
      : heat_(heat),
        graph_(graph),
        rank_(rank),
        whole_rows_(blocks(heat.rows, heat.block_rows)),
        columns_(blocks(heat.columns, heat.block_columns)),
        first_(share(rank)),
        rows_(share(rank + 1) - first_),
        order_(graph, std::size_t{rows_ + 2} * columns_, heat.variant == Variant::messages_only),
        update_seconds_(cost_of(heat.costs, "update")) {
    up.resize(columns_);
    down.resize(columns_);
  }

  static std::uint32_t blocks(std::uint32_t cells, std::uint32_t block) { return (cells + block - 1) / block; }

  void begin() {
    for (std::uint32_t row = 0; row < rows_ && heat_.variant == Variant::two_sided; ++row) {
      for (std::uint32_t column = 0; column < columns_; ++column) {
        if (is_at_top(row)) send_up(column);
        if (is_at_bottom(row)) receive_below(column);
      }
    }
  }

  void step(bool is_last) {
    if (heat_.variant == Variant::messages_only) {
      for (std::uint32_t column = 0; column < columns_; ++column) sweep_column(column, is_last);
      return;
    }
    const bool by_tasks = heat_.variant == Variant::two_sided;
    for (std::uint32_t row = 0; row < rows_; ++row) {
      for (std::uint32_t column = 0; column < columns_; ++column) {
        if (by_tasks && is_at_top(row)) receive_above(column);
        const std::uint32_t task = update(row, column);
        if (!by_tasks) {
          talk(task, column, is_at_top(row), is_at_bottom(row), is_last);
          continue;
        }
        if (is_at_top(row) && !is_last) send_up(column);
        if (is_at_bottom(row)) {
          send_down(column);
          if (!is_last) receive_below(column);
        }
      }
    }
  }

  // The tasks that send or receive messages of one tag, in their order.
  struct Ends {
    std::vector<std::uint32_t> sent;
    std::vector<std::uint32_t> received;
  };
  std::vector<Ends> up;    // by column: those that this rank sends up, and those that come up to it
  std::vector<Ends> down;  // the same downwards
  std::uint32_t width(std::uint32_t column) const {
    return std::min(heat_.block_columns, heat_.columns - column * heat_.block_columns);
  }
  std::uint32_t columns() const { return columns_; }

 private:
  std::uint32_t share(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(std::uint64_t{whole_rows_} * rank / heat_.ranks);
  }
  bool has_above() const { return rank_ > 0; }
  bool has_below() const { return rank_ + 1 < heat_.ranks; }
  bool is_at_top(std::uint32_t row) const { return row == 0 && has_above(); }
  bool is_at_bottom(std::uint32_t row) const { return row + 1 == rows_ && has_below(); }
  std::uint32_t height(std::uint32_t row) const {
    return std::min(heat_.block_rows, heat_.rows - (first_ + row) * heat_.block_rows);
  }
  double seconds(std::uint32_t row, std::uint32_t column) const {
    return update_seconds_ * height(row) * width(column) / (double{1} * heat_.block_rows * heat_.block_columns);
  }
  std::size_t block(std::uint32_t row, std::uint32_t column) const { return std::size_t{row} * columns_ + column; }
  std::size_t above(std::uint32_t column) const { return block(rows_, column); }
  std::size_t below(std::uint32_t column) const { return block(rows_ + 1, column); }

  std::uint32_t add(const char* name, double cost, std::uint8_t priority = 0, bool ends_by_message = false) {
    graph_.tasks.push_back({rank_, graph_.name(name), priority, ends_by_message, cost});
    return static_cast<std::uint32_t>(graph_.tasks.size() - 1);
  }

  std::uint32_t update(std::uint32_t row, std::uint32_t column) {
    const std::uint32_t task = add("update", seconds(row, column));
    order_.writes(task, block(row, column));
    if (row > 0) order_.reads(task, block(row - 1, column));
    if (column > 0) order_.reads(task, block(row, column - 1));
    if (column + 1 < columns_) order_.reads(task, block(row, column + 1));
    if (row + 1 < rows_) order_.reads(task, block(row + 1, column));
    if (heat_.variant == Variant::two_sided) {
      if (is_at_top(row)) order_.reads(task, above(column));
      if (is_at_bottom(row)) order_.reads(task, below(column));
    }
    return task;
  }

  // Of the variants in which the task that computes sends and receives.
  void talk(std::uint32_t task, std::uint32_t column, bool is_top, bool is_bottom, bool is_last) {
    if (is_top) {
      from_above(column).push_back(task);
      if (!is_last) to_above(column).push_back(task);
    }
    if (is_bottom) {
      from_below(column).push_back(task);
      to_below(column).push_back(task);
    }
  }
  void sweep_column(std::uint32_t column, bool is_last) {
    double cost = 0;
    for (std::uint32_t row = 0; row < rows_; ++row) cost += seconds(row, column);
    const std::uint32_t task = add("column", cost);
    order_.writes(task, 0);
    if (columns_before_.size() == columns_) {
      // MPI has sent what the column gave its neighbours in the sweep before.
      graph_.edges.push_back({columns_before_.front(), task});
      columns_before_.pop_front();
    }
    columns_before_.push_back(task);
    talk(task, column, has_above(), has_below(), is_last);
  }

  void send_up(std::uint32_t column) {
    const std::uint32_t task = add("send up", 0, message_priority);
    order_.reads(task, block(0, column));
    to_above(column).push_back(task);
  }
  void send_down(std::uint32_t column) {
    const std::uint32_t task = add("send down", 0, message_priority);
    order_.reads(task, block(rows_ - 1, column));
    to_below(column).push_back(task);
  }
  void receive_above(std::uint32_t column) {
    const std::uint32_t task = add("receive above", 0, message_priority, true);
    order_.writes(task, above(column));
    from_above(column).push_back(task);
  }
  void receive_below(std::uint32_t column) {
    const std::uint32_t task = add("receive below", 0, message_priority, true);
    order_.writes(task, below(column));
    from_below(column).push_back(task);
  }

  std::vector<std::uint32_t>& to_above(std::uint32_t column) { return up[column].sent; }
  std::vector<std::uint32_t>& from_above(std::uint32_t column) { return down[column].received; }
  std::vector<std::uint32_t>& to_below(std::uint32_t column) { return down[column].sent; }
  std::vector<std::uint32_t>& from_below(std::uint32_t column) { return up[column].received; }

  const Heat& heat_;
  Graph& graph_;
  std::uint32_t rank_;
  std::uint32_t whole_rows_;
  std::uint32_t columns_;
  std::uint32_t first_;
  std::uint32_t rows_;
  Order order_;
  std::deque<std::uint32_t> columns_before_;  ///< Tasks of the last sweep over each, without tasks of blocks.
  double update_seconds_;
};

// The n-th that one sends is the n-th that the other receives.
void connect(Graph& graph, const std::vector<std::uint32_t>& sent, const std::vector<std::uint32_t>& received,
             Message message) {
  for (std::size_t i = 0; i < received.size(); ++i) {
    message.from_task = sent[i];
    message.to_task = received[i];
    graph.messages.push_back(message);
  }
}

}  // namespace

Graph heat_graph(const Heat& heat) {
  if (heat.ranks == 0 || heat.rows == 0 || heat.columns == 0 || heat.block_rows == 0 || heat.block_columns == 0) {
    throw BadInput("ranks, rows, columns and blocks must be above 0");
  }
  if (RankOfHeat::blocks(heat.rows, heat.block_rows) < heat.ranks) {
    throw BadInput("there are " + std::to_string(RankOfHeat::blocks(heat.rows, heat.block_rows)) +
                   " rows of blocks for " + std::to_string(heat.ranks) +
                   " ranks: choose smaller blocks or fewer ranks");
  }
  Graph graph;
  graph.variant = heat.variant;
  graph.ranks = heat.ranks;
  std::vector<RankOfHeat> ranks;
  ranks.reserve(heat.ranks);
  for (std::uint32_t rank = 0; rank < heat.ranks; ++rank) {
    ranks.emplace_back(heat, graph, rank);
    if (heat.steps > 0) ranks.back().begin();
    for (std::uint32_t step = 1; step <= heat.steps; ++step) ranks.back().step(step == heat.steps);
  }
  for (std::uint32_t rank = 0; rank + 1 < heat.ranks && heat.steps > 0; ++rank) {
    RankOfHeat& upper = ranks[rank];
    RankOfHeat& lower = ranks[rank + 1];
    for (std::uint32_t column = 0; column < upper.columns(); ++column) {
      const std::uint64_t bytes = std::uint64_t{upper.width(column)} * bytes_of_cell;
      std::vector<std::uint32_t> risen = lower.up[column].sent;
      // Without a task for it, the first row goes up before the first step.
      if (heat.variant != Variant::two_sided) risen.insert(risen.begin(), no_task);
      connect(graph, risen, upper.up[column].received, {rank + 1, rank, 0, 0, upper.columns() + column, bytes});
      connect(graph, upper.down[column].sent, lower.down[column].received, {rank, rank + 1, 0, 0, column, bytes});
    }
  }
  return graph;
}

}  // namespace scaling
