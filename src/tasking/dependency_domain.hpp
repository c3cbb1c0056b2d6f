// The dependency domain of one parent task: its children are ordered by the regions they declare, in the order of their spawns.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <unordered_map>

#include "base/spin_lock.hpp"
#include "dovetail/access.hpp"
#include "tasking/region_table.hpp"

namespace dovetail::tasking {

/// Used by one thread at a time: the parent task itself. The domain of a runtime, where any thread may spawn, is locked by the thread that enters a
/// task.
class DependencyDomain {
 public:
  /// Enters the accesses of a task that is being spawned. `predecessors`: how many tasks it was found to wait for, some of them perhaps more than
  /// once. Returns true if they are none, or have ended meanwhile, and it may go on at once; else the last that ends lets it go, perhaps before this
  /// returns. `refused`: why not all could be entered, for want of memory; then the
  /// task must not run, and takes its place among the others as one that was cancelled. @throws std::bad_alloc if nothing was entered
  bool enter(Task* task, const AccessList& accesses, std::uint32_t& predecessors, std::exception_ptr& refused);
  /// Forgets everything; all tasks have completed. Failed data are forgiven.
  void clear() noexcept;

  base::SpinLock& lock() noexcept { return lock_; }

 private:
  struct Selection {
    bool reads;        ///< Accesses that read, whether or not they write too.
    bool only_writes;  ///< `out`.
  };
  /// Adds to both numbers what has been entered, also when it throws.
  void enter_batch(Task* task, std::span<const Access> batch, Selection selection, std::uint32_t& records,
                   std::uint32_t& dependencies);
  void enter_all(Task* task, const AccessList& accesses, std::uint32_t& dependencies);
  RegionTable& table(std::uint64_t space);

  base::SpinLock lock_;
  RegionTable memory_;
  std::unordered_map<std::uint64_t, RegionTable> others_;  ///< Of files and named spaces, by their number.
};

}  // namespace dovetail::tasking
