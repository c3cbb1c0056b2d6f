#include "base/topology.hpp"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace dovetail::base {
namespace {

bool allowed_set(cpu_set_t& set) noexcept {
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0;
}

}  // namespace

unsigned allowed_processors() noexcept {
  cpu_set_t set;
  if (allowed_set(set)) {
    return std::max(1U, static_cast<unsigned>(CPU_COUNT(&set)));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

Topology discover_topology() {
  Topology result;
  cpu_set_t allowed;
  const bool limited = allowed_set(allowed);
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) == 0) {
    if (hwloc_topology_load(topology) == 0) {
      std::vector<Topology::Unit> later;
      for (hwloc_obj_t unit = nullptr; (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr;) {
        if (limited && (unit->os_index >= CPU_SETSIZE || !CPU_ISSET(unit->os_index, &allowed))) {
          continue;
        }
        const int node = hwloc_bitmap_first(unit->nodeset);
        auto& list = unit->sibling_rank == 0 ? result.units : later;
        list.push_back({unit->os_index, node < 0 ? 0U : static_cast<unsigned>(node)});
      }
      result.units.insert(result.units.end(), later.begin(), later.end());
    }
    hwloc_topology_destroy(topology);
  }
  if (result.units.empty()) {
    for (unsigned processor = 0; limited && processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(processor, &allowed)) {
        result.units.push_back({processor, 0});
      }
    }
  }
  if (result.units.empty()) {
    result.units.push_back({0, 0});
  }
  return result;
}

bool bind_to_processor(unsigned processor) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace dovetail::base
