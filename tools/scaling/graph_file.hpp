// A graph as a file of JSON: what a recording gives, and what a generator can be compared with.
#pragma once

#include <string>

#include "graph.hpp"

namespace scaling {

/// @throws BadInput naming the file and what is wrong with it.
Graph read_graph(const std::string& path);
/// @throws BadInput if it cannot be written.
void write_graph(const Graph& graph, const std::string& path);

}  // namespace scaling
