#include "tasking/dependency_domain.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "tasking/dependency_node.hpp"
#include "tasking/exclusion.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {
namespace {
// While the accesses are entered, predecessors that complete already count down; this keeps the count from zero.
constexpr std::uint32_t entering = 1U << 30;

// The task must hold it: once, also if it has several accesses.
void note_exclusion(Task* task, Exclusion* exclusion) {
  auto& held = extra_of(task).exclusions;
  const auto place = std::lower_bound(held.begin(), held.end(), exclusion);
  if (place == held.end() || *place != exclusion) {
    exclusion->retain();
    held.insert(place, exclusion);
  }
}

}  // namespace

RegionTable& DependencyDomain::table(std::uint64_t space) {
  if (space == 0) {
    return memory_;
  }
  return files_[space];
}

bool DependencyDomain::enter(Task* task, const AccessList& accesses) {
  task->predecessors.store(entering, std::memory_order_relaxed);
  DependencyNode* const node = DependencyNode::make(task, accesses.size());
  task->node = node;
  std::uint32_t index = 0;
  std::uint32_t dependencies = 0;
  for (const Access* access = accesses.begin(); access != accesses.end();) {
    // Some at a time, so that what they need is fetched together.
    struct {
      RegionTable* table;
      std::size_t place;
    } found[AccessList::inline_capacity];
    const auto count = std::min<std::ptrdiff_t>(accesses.end() - access, std::ssize(found));
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      RegionTable& its_table = table(access[i].region.space);
      found[i] = {&its_table, its_table.look_up(access[i].region)};
    }
    for (std::ptrdiff_t i = 0; i < count; ++i, ++access) {
      if (access->region.length == 0) {
        continue;
      }
      Exclusion* exclusion = nullptr;
      dependencies +=
          found[i].table->enter(access->region, found[i].place, node->add(index++, access->mode), exclusion);
      if (exclusion != nullptr) [[unlikely]] {
        note_exclusion(task, exclusion);
      }
    }
  }
  node->entered();
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
