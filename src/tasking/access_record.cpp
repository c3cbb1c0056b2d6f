#include "tasking/access_record.hpp"

#include <new>

#include "base/block_pool.hpp"
#include "tasking/failure.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {
namespace {

// Records and edges are of one size, so one pool serves both. Never destroyed, as those of tasks.
base::BlockPool& record_pool = *new base::BlockPool(0, 64);
static_assert(sizeof(AccessRecord) == 64 && sizeof(Edge) == 64);

}  // namespace

AccessRecord* AccessRecord::make(Task* task, AccessMode mode) {
  auto* record = new (record_pool.allocate()) AccessRecord;
  record->task = task;
  record->mode = mode;
  return record;
}

void AccessRecord::destroy(AccessRecord* record) noexcept {
  if ((record->successors.load(std::memory_order_relaxed) & bad) != 0) {
    record->failure->release();
  }
  record_pool.deallocate(record);
}

Edge* Edge::make(AccessRecord* successor) { return new (record_pool.allocate()) Edge{successor, 0}; }

void Edge::destroy(Edge* edge) noexcept { record_pool.deallocate(edge); }

void poison(AccessRecord* record, Failure* cause) noexcept {
  record->poisoned.store(true, std::memory_order_relaxed);
  set_failure(record->task, Failure::of_cancelled(*record->task, cause));
  record->task->poisoned.store(true, std::memory_order_relaxed);
}

void retain_failure(Failure* failure) noexcept { failure->retain(); }

std::uint32_t AccessRecord::precede(AccessRecord* successor, bool drop_too) {
  Link word = successors.load(std::memory_order_acquire);
  Edge* edge = nullptr;
  for (;;) {
    if ((word & closed) != 0) {
      if ((word & bad) != 0 && successor->reads()) {
        poison(successor, failure);
      }
      if (drop_too) {
        destroy(this);
      }
      if (edge != nullptr) {
        Edge::destroy(edge);
      }
      return 0;
    }
    if (task == successor->task) {
      // A task does not wait for itself, and cannot complete meanwhile.
      if (drop_too) {
        successors.store(word | dropped, std::memory_order_relaxed);
      }
      return 0;
    }
    Link link = 0;
    if (!successor->in_used) {
      successor->in_next = word & ~flags;
      link = reinterpret_cast<Link>(successor) | through_successor;
    } else if (!out_used) {
      out_successor.store(successor, std::memory_order_relaxed);
      out_next.store(word & ~flags, std::memory_order_relaxed);
      link = reinterpret_cast<Link>(this) | through_predecessor;
    } else {
      if (edge == nullptr) {
        edge = Edge::make(successor);
      }
      edge->next = word & ~flags;
      link = reinterpret_cast<Link>(edge) | through_edge;
    }
    // Release: the completing thread follows the link.
    if (successors.compare_exchange_weak(word, link | (drop_too ? dropped : 0), std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      if ((link & kind_mask) == through_successor) {
        successor->in_used = true;
      } else if ((link & kind_mask) == through_predecessor && !drop_too) {
        out_used = true;  // after a drop the record may be gone, and nobody asks
      }
      return 1;
    }
  }
}

void AccessRecord::drop() noexcept {
  // Acquire: what the completing thread wrote into the record is read when it is destroyed. Once closed it is the table's alone.
  if ((successors.load(std::memory_order_acquire) & closed) != 0 ||
      (successors.fetch_or(dropped, std::memory_order_acq_rel) & closed) != 0) {
    destroy(this);
  }
}

}  // namespace dovetail::tasking
