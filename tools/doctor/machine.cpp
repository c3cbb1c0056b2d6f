#include "machine.hpp"

#include <hwloc.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cstdlib>

#include "base/kernel_files.hpp"
#include "base/topology.hpp"

namespace dovetail::doctor {
namespace {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

std::uint64_t limit_of(decltype(RLIMIT_NOFILE) resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : no_limit;
}

unsigned objects(hwloc_topology_t topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology, type);
  return count > 0 ? static_cast<unsigned>(count) : 0;
}

std::string hwloc_version() {
  const unsigned version = hwloc_get_api_version();
  return std::to_string(version >> 16) + "." + std::to_string((version >> 8) & 0xff) + "." +
         std::to_string(version & 0xff);
}

}  // namespace

Machine look_at_machine() {
  Machine machine;
  utsname system{};
  if (uname(&system) == 0) {
    machine.kernel = std::string(system.sysname) + " " + system.release + " " + system.machine;
  }
  machine.libraries = {
      {"dovetail", DOVETAIL_VERSION}, {"liburing", DOVETAIL_LIBURING_VERSION}, {"hwloc", hwloc_version()}};

  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) == 0) {
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (hwloc_topology_load(topology) == 0) {
      machine.cores = objects(topology, HWLOC_OBJ_CORE);
      machine.processors = objects(topology, HWLOC_OBJ_PU);
      machine.numa_nodes = objects(topology, HWLOC_OBJ_NUMANODE);
    }
    hwloc_topology_destroy(topology);
  }
  machine.allowed_processors = base::allowed_processors();
  machine.workers = machine.allowed_processors;
  machine.workers_from = "the processors that this process may use";
  if (const char* asked = std::getenv("DOVETAIL_WORKERS"); asked != nullptr && *asked != '\0') {
    if (const unsigned long number = std::strtoul(asked, nullptr, 10); number > 0) {
      machine.workers = static_cast<unsigned>(number);
    }
    machine.workers_from = std::string("DOVETAIL_WORKERS=") + asked;
  }

  const std::uint64_t maps = base::number_in(base::first_line("/proc/sys/vm/max_map_count"));
  machine.limits = {
      {"RLIMIT_NOFILE", limit_of(RLIMIT_NOFILE), "open files, and one descriptor for each ring and its bell"},
      {"RLIMIT_MEMLOCK", limit_of(RLIMIT_MEMLOCK), "bytes of buffers that may be registered with io_uring"},
      {"RLIMIT_NPROC", limit_of(RLIMIT_NPROC), "threads: workers, and executors for what has no asynchronous form"},
      {"vm.max_map_count", maps,
       "two mappings for each stack: about " + std::to_string(maps / 2) + " tasks can be paused at once"}};
  return machine;
}

}  // namespace dovetail::doctor
