#include "tasking/dependency_node.hpp"
#include <cstdio>
#include <cstdlib>
#include <utility>
#include "base/mutex.hpp"
#include "base/spin_lock.hpp"

#include <iterator>
#include <new>

#include "base/block_pool.hpp"
#include "tasking/failure.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::size_t node_sizes[] = {64, 128, 256, 384};
// Never destroyed, as those of tasks. Edges are in the first one too.
base::BlockPool* const node_pools[std::size(node_sizes)] = {
    new base::BlockPool(0, node_sizes[0]), new base::BlockPool(5, node_sizes[1]), new base::BlockPool(6, node_sizes[2]),
    new base::BlockPool(7, node_sizes[3])};
static_assert(sizeof(Edge) <= node_sizes[0]);

constexpr std::align_val_t node_alignment{64};
// The class of nodes that are too large for any pool.
constexpr std::uint16_t no_pool = std::size(node_sizes);

}  // namespace

DependencyNode* DependencyNode::make(Task* task, std::size_t capacity) {
  const std::size_t size = sizeof(DependencyNode) + capacity * sizeof(AccessRecord);
  std::uint16_t size_class = 0;
  while (size_class < no_pool && size > node_sizes[size_class]) {
    ++size_class;
  }
  void* const place = size_class == no_pool ? ::operator new(size, node_alignment) : node_pools[size_class]->allocate();
  return new (place) DependencyNode(task, size, size_class);
}

void DependencyNode::destroy() noexcept {
  if (failure_ != nullptr) {
    failure_->release();
  }
  if (size_class_ == no_pool) {
    ::operator delete(this, node_alignment);
  } else {
    node_pools[size_class_]->deallocate(this);
  }
}

bool DependencyNode::is_forgiven() const noexcept { return failure_->told(); }

// The table lets go of all.
void DependencyNode::drop() noexcept {
  // Acquire: what the completing thread wrote into the node is read when it is destroyed. Once left it is the table's alone.
  if ((successors_.load(std::memory_order_acquire) & left) != 0 ||
      (successors_.fetch_or(dropped, std::memory_order_acq_rel) & left) != 0) {
    destroy();
  }
}

void* DependencyNode::take_room() noexcept {
  if (size_class_ == no_pool || size_ + sizeof(Edge) > node_sizes[size_class_]) {
    return nullptr;
  }
  void* const room = reinterpret_cast<std::byte*>(this) + size_;
  size_ += sizeof(Edge);
  return room;
}

namespace {

constexpr std::size_t most_in_reserve = 16 * 1024;
alignas(Edge) std::byte reserved[most_in_reserve][sizeof(Edge)];

// For edges when there is no memory. It takes none until then.
class Reserve {
 public:
  void* take() noexcept {
    const base::LockGuard lock(lock_);
    if (free_ != nullptr) {
      return std::exchange(free_, free_->next);
    }
    return used_ < most_in_reserve ? &reserved[used_++] : nullptr;
  }
  void give_back(void* place) noexcept {
    const base::LockGuard lock(lock_);
    free_ = new (place) Free{free_};
  }

 private:
  struct Free {
    Free* next;
  };
  base::SpinLock lock_;
  std::size_t used_ GUARDED_BY(lock_) = 0;
  Free* free_ GUARDED_BY(lock_) = nullptr;
};
constinit Reserve reserve;

}  // namespace

Edge* Edge::make(AccessRecord* successor, const AccessRecord* predecessor) noexcept {
  if (void* const room = successor->node().take_room()) {
    return new (room) Edge{successor, predecessor, 0, Place::node};
  }
  try {
    return new (node_pools[0]->allocate()) Edge{successor, predecessor, 0, Place::pool};
  } catch (const std::bad_alloc&) {
    if (void* const kept = reserve.take()) {
      return new (kept) Edge{successor, predecessor, 0, Place::reserve};
    }
  }
  std::fputs("dovetail: there is no memory to note in which order tasks run\n", stderr);
  std::abort();
}

void Edge::give_back() noexcept {
  if (place == Place::pool) {
    node_pools[0]->deallocate(this);
  } else {
    reserve.give_back(this);
  }
}

void poison(AccessRecord* record, Failure* cause) noexcept {
  record->poisoned.store(true, std::memory_order_relaxed);
  Task* const task = record->node().task();
  set_failure(task, Failure::of_cancelled(*task, cause));
  task->poisoned.store(true, std::memory_order_relaxed);
}

void retain_failure(Failure* failure) noexcept { failure->retain(); }

std::uint32_t AccessRecord::precede_if_open(AccessRecord* successor, bool drop_too) {
  DependencyNode& own = node();
  if (&own == &successor->node()) {
    // A task does not wait for itself.
    if (drop_too) {
      drop();
    }
    return 0;
  }
  const bool last = drop_too && --own.kept_ == 0;
  DependencyNode::Link word = own.successors_.load(std::memory_order_acquire);
  Edge* edge = nullptr;
  for (;;) {
    if ((word & DependencyNode::closed) != 0) {
      if ((word & DependencyNode::bad) != 0 && is_bad_after_failure() && successor->reads() && !own.is_forgiven()) {
        poison(successor, own.failure_);
      }
      if (last) {
        own.drop();
      }
      if (edge != nullptr) {
        edge->destroy();
      }
      return 0;
    }
    DependencyNode::Link link = 0;
    if (!successor->link_used) {
      successor->next_link = word & ~DependencyNode::flags;
      successor->predecessor = this;
      link = reinterpret_cast<DependencyNode::Link>(successor);
    } else {
      if (edge == nullptr) {
        edge = Edge::make(successor, this);
      }
      edge->next = word & ~DependencyNode::flags;
      link = reinterpret_cast<DependencyNode::Link>(edge) | DependencyNode::through_edge;
    }
    // Release: the completing thread follows the link. After the last drop the node may be gone.
    if (own.successors_.compare_exchange_weak(word, link | (last ? DependencyNode::dropped : 0),
                                              std::memory_order_acq_rel, std::memory_order_acquire)) {
      successor->link_used = successor->link_used || edge == nullptr;
      return 1;
    }
  }
}

}  // namespace dovetail::tasking
