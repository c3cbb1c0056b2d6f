// What the machine and this process have, apart from devices.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dovetail::doctor {

/// A limit and what it means here.
struct Limit {
  std::string name;
  std::uint64_t value = 0;  // ~0: none
  std::string meaning;
};

struct Machine {
  std::string kernel;
  std::vector<std::pair<std::string, std::string>> libraries;  // Name and version.
  unsigned cores = 0;
  unsigned processors = 0;          // Hardware threads of the machine.
  unsigned allowed_processors = 0;  // Of them, what this process may use.
  unsigned numa_nodes = 0;
  unsigned workers = 0;  // What a runtime with default options would start.
  std::string workers_from;
  std::vector<Limit> limits;
};

Machine look_at_machine();

}  // namespace dovetail::doctor
