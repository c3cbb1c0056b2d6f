// dovetail-scaling: what the command line asks for.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "graph_file.hpp"
#include "heat.hpp"
#include "machine.hpp"
#include "refinement.hpp"
#include "simulation.hpp"
#include "streaming.hpp"
#include "whole_number.hpp"

namespace {

using scaling::BadInput;
using scaling::Graph;
using scaling::highest_bytes;
using scaling::highest_count;
using scaling::highest_size;

constexpr int bad_input = 2;
// As the program refinement takes them.
constexpr std::int64_t longest_edge = 32;
constexpr std::int64_t most_variables = 1000;
constexpr std::int64_t highest_coarsest = 5;
constexpr std::int64_t highest_finest = 10;

struct Options {
  std::string graph;
  std::string application;
  std::string variant = "two-sided";
  std::string machine;
  std::string output;
  std::string part = "stages";
  std::vector<std::string> costs;
  scaling::Heat heat;
  scaling::Streaming streaming;
  scaling::Refinement refinement;
  std::uint32_t ranks = 4;
  std::uint32_t workers = 0;
  std::uint32_t ranks_per_node = 0;
};

scaling::Costs costs_of(const std::vector<std::string>& texts) {
  scaling::Costs made;
  for (const std::string& text : texts) {
    const std::size_t sign = text.rfind('=');
    std::size_t used = 0;
    double seconds = -1;
    try {
      seconds = sign == std::string::npos ? -1 : std::stod(text.substr(sign + 1), &used);
    } catch (const std::exception&) {
      seconds = -1;
    }
    if (!std::isfinite(seconds) || seconds < 0 || sign + 1 + used != text.size()) {
      throw BadInput("--cost is '" + text + "', but must be NAME=SECONDS");
    }
    made[text.substr(0, sign)] = seconds;
  }
  return made;
}

Graph graph_of(Options& options) {
  if (!options.graph.empty()) {
    return scaling::read_graph(options.graph);
  }
  const scaling::Variant variant = scaling::variant_of(options.variant);
  if (options.application == "heat") {
    options.heat.variant = variant;
    options.heat.ranks = options.ranks;
    options.heat.costs = costs_of(options.costs);
    return scaling::heat_graph(options.heat);
  }
  if (options.application == "streaming") {
    options.streaming.variant = variant;
    options.streaming.ranks = options.ranks;
    options.streaming.costs = costs_of(options.costs);
    return scaling::streaming_graph(options.streaming);
  }
  if (options.application == "refinement") {
    options.refinement.part = scaling::part_of(options.part);
    options.refinement.variant = variant;
    options.refinement.ranks = options.ranks;
    options.refinement.costs = costs_of(options.costs);
    return scaling::refinement_graph(options.refinement);
  }
  throw BadInput("give --graph FILE, or --application heat, streaming or refinement");
}

void print_simulated_run(const Options& options, const Graph& graph, const scaling::Machine& machine) {
  const scaling::SimulatedRun run = scaling::simulate(graph, machine);
  nlohmann::ordered_json json{{"seconds", run.seconds},
                              {"computing", run.computing},
                              {"overhead", run.overhead},
                              {"locked", run.locked},
                              {"events", run.events},
                              {"tasks", graph.tasks.size()},
                              {"messages", graph.messages.size()}};
  if (options.graph.empty() && options.application == "refinement") {
    json["blocks"] = scaling::blocks_of(options.refinement);
  }
  std::printf("%s\n", json.dump().c_str());
}

CLI::Range within(std::int64_t lowest, std::int64_t highest) { return {lowest, highest}; }

int run(int count, char** arguments) {
  CLI::App app{"Simulates a task graph of many ranks, or makes one. The outcome is an object of JSON.",
               "dovetail-scaling"};
  Options options;
  app.add_option("--graph", options.graph, "the graph to replay: tools/scaling/recording.py makes it from a trace");
  app.add_option("--application", options.application,
                 "make the graph of this application instead: heat, streaming, refinement");
  app.add_option("--variant", options.variant, "messages-only, two-sided, one-sided");
  app.add_option("--machine", options.machine, "the file that describes the machine; without it nothing is simulated");
  app.add_option("--write", options.output, "a file that the graph is written to");
  app.add_option("--cost", options.costs, "NAME=SECONDS: what the body of a task of this name computes");
  app.add_option("--ranks", options.ranks, "how many")->check(within(1, highest_count));
  app.add_option("--workers", options.workers, "of a rank, instead of the machine's")->check(within(0, highest_count));
  app.add_option("--ranks-per-node", options.ranks_per_node, "instead of the machine's")
      ->check(within(0, highest_count));
  app.add_option("--rows", options.heat.rows, "heat: of cells")->check(within(1, highest_size));
  app.add_option("--columns", options.heat.columns, "heat: of cells")->check(within(1, highest_size));
  app.add_option("--block-rows", options.heat.block_rows, "heat: of cells")->check(within(1, highest_size));
  app.add_option("--block-columns", options.heat.block_columns, "heat: of cells")->check(within(1, highest_size));
  app.add_option("--steps", options.heat.steps, "heat: sweeps")->check(within(0, highest_size));
  std::uint32_t stages = 0;
  app.add_option("--stages", stages, "streaming: of the chain; 0: as many as ranks. Refinement: of the turn")
      ->check(within(0, highest_count));
  app.add_option("--chunks", options.streaming.chunks, "streaming: how many")->check(within(1, highest_size));
  app.add_option("--blocks", options.streaming.blocks, "streaming: of a chunk")->check(within(1, highest_size));
  app.add_option("--block-bytes", options.streaming.block_bytes, "streaming: of a block")
      ->check(within(0, highest_bytes));
  scaling::Refinement& refinement = options.refinement;
  app.add_option("--edge", refinement.edge, "refinement: of a block, in cells")->check(within(2, longest_edge));
  app.add_option("--variables", refinement.variables, "refinement: of a cell")->check(within(1, most_variables));
  app.add_option("--coarsest", refinement.coarsest, "refinement: lowest level of blocks")
      ->check(within(0, highest_coarsest));
  app.add_option("--finest", refinement.finest, "refinement: highest level of blocks")
      ->check(within(0, highest_finest));
  app.add_option("--radius", refinement.radius, "refinement: of the sphere, in percent of the domain")
      ->check(within(0, 200));
  app.add_option("--refinements", refinement.refinements, "refinement: how often the mesh follows the sphere")
      ->check(within(0, highest_count));
  app.add_option("--turn", refinement.turn, "refinement: how often it has done so before the stages")
      ->check(within(0, highest_count));
  app.add_option("--part", options.part, "refinement: stages; or, behind them, moves; or agreement before them");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : bad_input;
  }
  options.streaming.stages = stages;
  options.refinement.stages = std::max(stages, 1U);
  const Graph graph = graph_of(options);
  if (!options.output.empty()) {
    scaling::write_graph(graph, options.output);
  }
  if (!options.machine.empty()) {
    scaling::Machine machine = scaling::read_machine(options.machine, graph.variant);
    machine.workers = options.workers != 0 ? options.workers : machine.workers;
    machine.ranks_per_node = options.ranks_per_node != 0 ? options.ranks_per_node : machine.ranks_per_node;
    print_simulated_run(options, graph, machine);
  } else if (options.output.empty()) {
    throw BadInput("give --machine FILE, --write FILE or both");
  }
  return 0;
}

int run_and_tell(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const BadInput& error) {
    std::fprintf(stderr, "dovetail-scaling: %s\n", error.what());
    return bad_input;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail-scaling: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int status = run_and_tell(count, arguments);
  std::fflush(nullptr);
  // SimGrid crashes when it is destroyed before all that it computes has ended, as ranks that spin never do.
  std::_Exit(status);
}
