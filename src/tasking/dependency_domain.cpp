#include "tasking/dependency_domain.hpp"

#include <algorithm>

#include "tasking/exclusion.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {
namespace {
// While the accesses are entered, predecessors that complete already count down; this keeps the count from zero.
constexpr std::uint32_t entering = 1U << 30;
}  // namespace

RegionTable& DependencyDomain::table(std::uint64_t space) {
  if (space == 0) {
    return memory_;
  }
  return files_[space];
}

bool DependencyDomain::enter(Task* task, const AccessList& accesses) {
  task->predecessors.store(entering, std::memory_order_relaxed);
  for (const Access& access : accesses) {
    if (access.region.space == 0) {
      memory_.prefetch(access.region);
    }
  }
  std::uint32_t dependencies = 0;
  for (const Access& access : accesses) {
    if (access.region.length == 0) {
      continue;
    }
    AccessRecord* record = AccessRecord::make(task, access.mode);
    record->next_in_task = task->records;
    task->records = record;
    Exclusion* exclusion = nullptr;
    dependencies += table(access.region.space).enter(access.region, record, exclusion);
    if (exclusion != nullptr) {
      auto& held = extra_of(task).exclusions;
      const auto place = std::lower_bound(held.begin(), held.end(), exclusion);
      if (place == held.end() || *place != exclusion) {
        exclusion->retain();
        held.insert(place, exclusion);
      }
    }
  }
  if (dependencies == 0) {
    return true;
  }
  const std::uint32_t ended = entering - dependencies;
  return task->predecessors.fetch_sub(ended, std::memory_order_acq_rel) == ended;
}

void DependencyDomain::clear() noexcept {
  memory_.clear();
  files_.clear();
}

}  // namespace dovetail::tasking
