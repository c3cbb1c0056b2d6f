// What one-sided communication could use on this machine, found by trying it.
#pragma once

#include <string>
#include <vector>

namespace dovetail::comm::rma {

struct TransportProbe {
  std::string name;
  bool works = false;
  std::string why_not;
  std::string where;  ///< If not everywhere: in which programs.
};

/// That of segments which are allocated, that of memory of the program's own, and those between nodes. These are libfabric, then MPI libraries, then GASPI.
/// Of MPI libraries, each that is found by its name is told, or one that does not work. Forks for a moment.
std::vector<TransportProbe> probe_transports();

}  // namespace dovetail::comm::rma
