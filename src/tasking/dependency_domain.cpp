#include "tasking/dependency_domain.hpp"

#include <algorithm>
#include <cstddef>

#include "base/make_room.hpp"
#include "tasking/dependency_node.hpp"
#include "tasking/exclusion.hpp"
#include "tasking/label.hpp"
#include "tasking/named_spaces.hpp"
#include "tasking/task.hpp"
#include "trace/trace.hpp"

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

// Keeps with the label of a task that is being spawned which regions of named spaces it uses, for reports.
[[gnu::cold]] void note_named_accesses(Task* task, const AccessList& accesses) {
  const std::string text = record_named_accesses(trace::number_of(task), accesses);
  if (text.empty()) {
    return;
  }
  const Label* const before = task->label;
  std::atomic_ref<const Label*>(task->label).store(label_with_accesses(before->text, text), std::memory_order_release);
  if (task->own_label != 0) {
    free_label(before);
  }
  task->own_label = 1;
}

}  // namespace

RegionTable& DependencyDomain::table(std::uint64_t space) {
  if (space == 0) {
    return memory_;
  }
  return others_[space];
}

// Enters those of up to `AccessList::inline_capacity` accesses that are selected. The memory that they need is fetched
// together.
void DependencyDomain::enter_batch(Task* task, std::span<const Access> batch, Selection selection,
                                   std::uint32_t& records, std::uint32_t& dependencies) {
  struct {
    RegionTable* table;
    std::size_t place;
  } found[AccessList::inline_capacity];
  for (std::size_t i = 0; i < batch.size(); ++i) {
    RegionTable& its_table = table(batch[i].region.space);
    found[i] = {&its_table, its_table.look_up(batch[i].region)};
  }
  auto enter_one = [&](std::size_t i) {
    if (batch[i].mode == AccessMode::commutative) [[unlikely]] {
      auto& held = extra_of(task).exclusions;
      base::make_room(held, held.size() + 1);  // to note it never fails
    }
    Exclusion* exclusion = nullptr;
    AccessRecord* const record = task->node->add(records++, batch[i].mode);
    try {
      dependencies += found[i].table->enter(batch[i].region, found[i].place, record, exclusion);
    } catch (...) {
      record->drop();  // the table has not taken it
      throw;
    }
    if (exclusion != nullptr) [[unlikely]] {
      note_exclusion(task, exclusion);
    }
  };
  // An entered `out` hides which task wrote the region before, and whether that one failed. So the accesses that read are
  // entered first.
  bool only_writes = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].region.length == 0) {
      continue;
    }
    if (batch[i].mode == AccessMode::out) {
      only_writes = true;
    } else if (selection.reads) {
      enter_one(i);
    }
  }
  for (std::size_t i = 0; only_writes && selection.only_writes && i < batch.size(); ++i) {
    if (batch[i].mode == AccessMode::out && batch[i].region.length != 0) {
      enter_one(i);
    }
  }
}

void DependencyDomain::enter_all(Task* task, const AccessList& accesses, std::uint32_t& dependencies) {
  const std::span<const Access> all(accesses.begin(), accesses.size());
  constexpr std::size_t most = AccessList::inline_capacity;
  std::uint32_t records = 0;
  if (all.size() <= most) [[likely]] {
    enter_batch(task, all, {.reads = true, .only_writes = true}, records, dependencies);
  } else {
    for (const Selection selection :
         {Selection{.reads = true, .only_writes = false}, {.reads = false, .only_writes = true}}) {
      for (std::size_t first = 0; first < all.size(); first += most) {
        enter_batch(task, all.subspan(first, std::min(most, all.size() - first)), selection, records, dependencies);
      }
    }
  }
}

bool DependencyDomain::enter(Task* task, const AccessList& accesses, std::uint32_t& predecessors,
                             std::exception_ptr& refused) {
  if (trace::records_accesses()) [[unlikely]] {
    record_accesses(trace::number_of(task), accesses);
  }
  // Before the accesses are entered: afterwards a predecessor that fails on another thread may read the label.
  if (std::any_of(accesses.begin(), accesses.end(),
                  [](const Access& access) { return may_be_named(access.region.space); })) [[unlikely]] {
    note_named_accesses(task, accesses);
  }
  task->predecessors.store(entering, std::memory_order_relaxed);
  DependencyNode* const node = DependencyNode::make(task, accesses.size());
  task->node = node;
  predecessors = 0;
  try {
    enter_all(task, accesses, predecessors);
  } catch (...) {
    // Others are ordered behind what has been entered: it stays, as what a task has that must not run.
    task->poisoned.store(true, std::memory_order_relaxed);
    refused = std::current_exception();
  }
  node->entered();
  if (predecessors == 0) {
    return true;
  }
  const std::uint32_t ended = entering - predecessors;
  return task->predecessors.fetch_sub(ended, std::memory_order_acq_rel) == ended;
}

void DependencyDomain::clear() noexcept {
  memory_.clear();
  others_.clear();
}

}  // namespace dovetail::tasking
