#include "graph_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>

#include "whole_number.hpp"

namespace scaling {
namespace {

using Json = nlohmann::json;

// A task is [rank, name, priority, ends by a message, seconds]; an edge [before, after], or [before, after, whether the end of the first body is enough]; a message [from rank, to rank, from task or -1, to task or
// -1, tag, bytes].
std::int64_t number_of(std::uint32_t task) { return task == no_task ? -1 : std::int64_t{task}; }

void require(bool holds, const std::string& path, const std::string& what) {
  if (!holds) {
    throw BadInput("the graph " + path + ": " + what);
  }
}

// Of an array in the file, the numbers at their places.
class Row {
 public:
  Row(const Json& row, const std::string& where) : row_(row), where_(where) {}

  template <class Number>
  Number whole(std::size_t place, const char* what, std::int64_t highest) const {
    return static_cast<Number>(whole_number(row_.at(place), where_, what, 0, highest));
  }
  std::uint32_t task(std::size_t place, const char* what, std::int64_t tasks) const {
    return whole<std::uint32_t>(place, what, tasks - 1);
  }
  std::uint32_t task_or_none(std::size_t place, const char* what, std::int64_t tasks) const {
    const std::int64_t number = whole_number(row_.at(place), where_, what, -1, tasks - 1);
    return number < 0 ? no_task : static_cast<std::uint32_t>(number);
  }

 private:
  const Json& row_;
  const std::string& where_;
};

Graph graph_of(const Json& json, const std::string& path) {
  const std::string where = "the graph " + path + ": ";
  Graph graph;
  graph.variant = variant_of(json.at("variant"));
  graph.ranks = static_cast<std::uint32_t>(whole_number(json.at("ranks"), where, "'ranks'", 1, highest_count));
  graph.names = json.at("names").get<std::vector<std::string>>();
  constexpr std::int64_t highest_name = std::numeric_limits<std::uint16_t>::max();
  constexpr std::int64_t highest_number = std::numeric_limits<std::uint32_t>::max();
  const std::int64_t last_name = std::min(static_cast<std::int64_t>(graph.names.size()) - 1, highest_name);
  const std::int64_t last_rank = std::int64_t{graph.ranks} - 1;
  for (const Json& task : json.at("tasks")) {
    const Row row(task, where);
    const double seconds = task.at(4);
    require(std::isfinite(seconds) && seconds >= 0, path, "a task takes a negative time");
    graph.tasks.push_back({row.whole<std::uint32_t>(0, "the rank of a task", last_rank),
                           row.whole<std::uint16_t>(1, "the name of a task", last_name),
                           row.whole<std::uint8_t>(2, "the priority of a task", 255), task.at(3).get<bool>(), seconds});
  }
  require(graph.tasks.size() < no_task, path, "it has too many tasks");
  const auto tasks = static_cast<std::int64_t>(graph.tasks.size());
  for (const Json& edge : json.at("edges")) {
    const Row row(edge, where);
    graph.edges.push_back({row.task(0, "the first task of an edge", tasks),
                           row.task(1, "the second task of an edge", tasks),
                           edge.size() > 2 && edge.at(2).get<bool>()});
  }
  for (const Json& message : json.at("messages")) {
    const Row row(message, where);
    graph.messages.push_back({row.whole<std::uint32_t>(0, "the rank that sends a message", last_rank),
                              row.whole<std::uint32_t>(1, "the rank that receives a message", last_rank),
                              row.task_or_none(2, "the task that sends a message", tasks),
                              row.task_or_none(3, "the task that receives a message", tasks),
                              row.whole<std::uint32_t>(4, "the tag of a message", highest_number),
                              row.whole<std::uint64_t>(5, "the size of a message", highest_bytes)});
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
    return graph_of(json, path);
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
    json["edges"].push_back(edge.by_return ? Json{edge.before, edge.after, true} : Json{edge.before, edge.after});
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
