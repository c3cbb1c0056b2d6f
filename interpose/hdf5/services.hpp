// The services that the connector translates HDF5's calls to, and what all files of the process share.
#pragma once

#include <vector>

#include "base/memory_budget.hpp"
#include "base/memory_share.hpp"
#include "base/overlap.hpp"
#include "compression/chunk_table.hpp"
#include "prefetch/read_ahead.hpp"
#include "report.hpp"
#include "staging/stage.hpp"

namespace dovetail::hdf5 {

class DriverFile;
using staging::Lock;

struct Services {
  base::MemoryBudget memory;
  base::MemoryBudget
      for_long;  ///< Of it, for what was read ahead and what is being compressed: half, so that writes have the other.
  base::LastingBudget lasting{memory, for_long};
  base::Overlap overlap;
  staging::Stage& stage;
  prefetching::Statistics ahead{overlap};
  compression::Statistics compressed{overlap};
  compression::ChunkTable chunks;  ///< For the thread that is in HDF5.
  Report report;
  std::vector<DriverFile*> files GUARDED_BY(staging::stage_lock);

  /// The counts of the report begin anew. While no task of the services runs.
  void reset_statistics(bool threads_gone = false) noexcept;
  /// Waits for all transfers of all files.
  void drain(Cause cause) noexcept { stage.drain(report.of(cause)); }
  /// Whether a write of any file has failed.
  bool any_failed() {
    const Lock lock(stage.mutex);
    return stage.failures != 0;
  }

 private:
  Services();
  friend Services& services();
};

/// Never destroyed: HDF5 closes what the program left open after the destructors of this library would have run.
Services& services();

}  // namespace dovetail::hdf5
