#include "graph_file.hpp"

#include <cerrno>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

namespace scaling {
namespace {

using Json = nlohmann::json;

// A task is [rank, name, priority, ends by a message, seconds]; an edge [before, after]; a message [from rank, to rank, from task or -1, to task or
// -1, tag, bytes].
std::uint32_t task_of(const Json& number) {
  const std::int64_t value = number.get<std::int64_t>();
  return value < 0 ? no_task : static_cast<std::uint32_t>(value);
}
std::int64_t number_of(std::uint32_t task) { return task == no_task ? -1 : std::int64_t{task}; }

void require(bool holds, const std::string& path, const std::string& what) {
  if (!holds) {
    throw BadInput("the graph " + path + ": " + what);
  }
}

void check(const Graph& graph, const std::string& path) {
  for (const Task& task : graph.tasks) {
    require(task.rank < graph.ranks && task.name < graph.names.size(), path,
            "a task has a rank or name that is not there");
    require(std::isfinite(task.seconds) && task.seconds >= 0, path, "a task takes a negative time");
  }
  for (const Edge& edge : graph.edges) {
    require(edge.before < graph.tasks.size() && edge.after < graph.tasks.size(), path,
            "an edge has a task that is not there");
  }
  for (const Message& message : graph.messages) {
    require(message.from_rank < graph.ranks && message.to_rank < graph.ranks, path,
            "a message has a rank that is not there");
    for (const std::uint32_t task : {message.from_task, message.to_task}) {
      require(task == no_task || task < graph.tasks.size(), path, "a message has a task that is not there");
    }
  }
}

Graph graph_of(const Json& json) {
  Graph graph;
  graph.variant = variant_of(json.at("variant"));
  graph.ranks = json.at("ranks");
  graph.names = json.at("names").get<std::vector<std::string>>();
  for (const Json& task : json.at("tasks")) {
    graph.tasks.push_back({task.at(0), task.at(1), task.at(2), task.at(3).get<bool>(), task.at(4)});
  }
  for (const Json& edge : json.at("edges")) {
    graph.edges.push_back({edge.at(0), edge.at(1)});
  }
  for (const Json& message : json.at("messages")) {
    graph.messages.push_back(
        {message.at(0), message.at(1), task_of(message.at(2)), task_of(message.at(3)), message.at(4), message.at(5)});
  }
  return graph;
}

}  // namespace

Graph read_graph(const std::string& path) {
  std::ifstream file(path);
  require(static_cast<bool>(file), path, std::string("it cannot be read: ") + std::system_category().message(errno));
  try {
    const Json json = Json::parse(file);
    for (const auto& [key, value] : json.items()) {
      require(
          key == "variant" || key == "ranks" || key == "names" || key == "tasks" || key == "edges" || key == "messages",
          path, "'" + key + "' is no key of a graph");
    }
    Graph graph = graph_of(json);
    check(graph, path);
    return graph;
  } catch (const Json::parse_error& error) {
    throw BadInput("the graph " + path + " is no JSON, or was cut off: " + error.what());
  } catch (const Json::exception& error) {
    throw BadInput("the graph " + path + " is not as it should be: " + error.what());
  }
}

void write_graph(const Graph& graph, const std::string& path) {
  Json json{{"variant", name_of(graph.variant)}, {"ranks", graph.ranks}, {"names", graph.names}};
  for (const char* key : {"tasks", "edges", "messages"}) {
    json[key] = Json::array();
  }
  for (const Task& task : graph.tasks) {
    json["tasks"].push_back({task.rank, task.name, task.priority, task.ends_by_message, task.seconds});
  }
  for (const Edge& edge : graph.edges) {
    json["edges"].push_back({edge.before, edge.after});
  }
  for (const Message& message : graph.messages) {
    json["messages"].push_back({message.from_rank, message.to_rank, number_of(message.from_task),
                                number_of(message.to_task), message.tag, message.bytes});
  }
  std::ofstream file(path);
  file << json.dump() << "\n";
  file.close();
  require(static_cast<bool>(file), path, std::string("it cannot be written: ") + std::system_category().message(errno));
}

}  // namespace scaling
