// One task with accesses, as a node of the dependency graph. See docs/design/dependencies.md.
//
// A node has a record for each access. It is shared by two owners. Its task owns it until the task completes; the region
// table of the domain, until later accesses have replaced all of its records. One atomic word holds the list of successors
// and says which owner has let go:
//
//   successors = first link | flags      link = address of a record or edge, with its kind in the low bits
//
// The table adds successors; the task closes the word when it completes, and from then on nothing is added. The owner that
// lets go second frees the node.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "dovetail/access.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;
class DependencyNode;
struct Edge;
class Failure;

/// One access. Lies in its node, so that it lives as long as that.
struct alignas(32) AccessRecord {
  AccessRecord* next_in_group;  ///< Of the region table.
  std::uintptr_t next_link;  ///< In the list of `predecessor`, after the link to this record. Until that is released.
  const AccessRecord* predecessor;
  std::uint32_t offset;  ///< Of this record in its node, in bytes.
  AccessMode mode;
  bool link_used;              ///< `next_link` and `predecessor` are taken.
  std::atomic<bool> poisoned;  ///< Reads data that were not produced. Written before the release of the dependency.

  bool reads() const noexcept { return mode != AccessMode::out; }
  bool writes() const noexcept { return mode != AccessMode::in; }
  /// Whether the data are bad after the failure of the task.
  bool is_bad_after_failure() const noexcept { return writes() || poisoned.load(std::memory_order_relaxed); }
  DependencyNode& node() noexcept;
  const DependencyNode& node() const noexcept { return const_cast<AccessRecord*>(this)->node(); }

  /// Makes the task of `successor` wait for this one; for the table. With `drop`, the table lets go of this record.
  /// Returns how many dependencies that adds: 0 or 1.
  std::uint32_t precede(AccessRecord* successor, bool drop) {
    // Often so: tables remember for longer than tasks take.
    if (is_closed_and_good()) {
      if (drop) {
        this->drop();
      }
      return 0;
    }
    return precede_if_open(successor, drop);
  }
  /// The table lets go.
  void drop() noexcept;
  /// Whether the task has completed, and what the data then are for ever.
  bool is_closed_and_good() const noexcept;
  bool is_closed_and_bad() const noexcept;
  /// `precede`, where that is not clear at first sight.
  std::uint32_t precede_if_open(AccessRecord* successor, bool drop);
};

class alignas(32) DependencyNode {
 public:
  using Link = std::uintptr_t;

  // Where the successor of a link is found. It is linked without an allocation through its own record, if that has no other
  // predecessor.
  static constexpr Link through_edge = 1;  ///< The link is an `Edge`; else it is the successor's record.

  static constexpr Link dropped = 2;  ///< The table has let go.
  static constexpr Link closed = 4;   ///< The task has completed.
  static constexpr Link bad = 8;      ///< With `closed`: the task has failed, and its successors must know.
  static constexpr Link left = 16;    ///< The task has let go: at once when it closes the node, save for bad ones.
  static constexpr Link flags = dropped | closed | bad | left;
  static_assert((flags | through_edge) < alignof(AccessRecord), "these bits of an address are zero");

  /// With room for `capacity` records. Until `entered`, the table does not let go.
  static DependencyNode* make(Task* task, std::size_t capacity);
  /// Makes the record of this index, which is less than the capacity; the table keeps it until it drops it.
  AccessRecord* add(std::uint32_t index, AccessMode mode) noexcept {
    ++kept_;
    const auto offset = static_cast<std::uint32_t>(sizeof(DependencyNode) + index * sizeof(AccessRecord));
    return new (reinterpret_cast<std::byte*>(this) + offset)
        AccessRecord{nullptr, 0, nullptr, offset, mode, false, false};
  }
  /// All records have been entered into tables.
  void entered() noexcept { let_go_of_record(); }

  /// The task has completed; `cause` is its failure if successors must know of it. Calls `released(Task*)` for each dependency
  /// that ends. The node may be gone afterwards.
  template <class Released>
  void close(Failure* cause, Released&& released);

  /// Valid while open.
  Task* task() const noexcept { return task_; }
  /// Of one that is closed and bad.
  Failure* failure() const noexcept { return failure_; }
  /// Whether the program has asked for that task by now, and was told: what it does next, it does knowingly.
  bool is_forgiven() const noexcept;
  /// Calls `visit(Task*)` for each link. For reports, when nothing runs.
  template <class Visit>
  void for_each_successor(Visit&& visit) const;

 private:
  friend struct AccessRecord;
  friend struct Edge;

  DependencyNode(Task* task, std::size_t size, std::uint16_t size_class) noexcept
      : task_(task), size_(static_cast<std::uint16_t>(size)), size_class_(size_class) {}
  ~DependencyNode() = default;
  /// Room for one more edge behind the records, of those that lead to this node; null if there is none left.
  void* take_room() noexcept;
  void let_go_of_record() noexcept {
    if (--kept_ == 0) {
      drop();
    }
  }
  void drop() noexcept;
  void destroy() noexcept;

  std::atomic<Link> successors_{0};
  Task* task_;
  Failure* failure_ = nullptr;  ///< A reference of its own.
  // Records that the table keeps, and one until all are entered. For the table's thread.
  std::uint32_t kept_ = 1;
  std::uint16_t size_;  ///< Bytes that are taken, if it is in a pool. For the table's thread.
  const std::uint16_t size_class_;
};

/// A link to a record that has another predecessor already. In the node of that record, where there is room: it is followed before
/// the successor may run.
struct alignas(32) Edge {
  enum class Place : std::uint8_t { node, pool, reserve };
  AccessRecord* successor;
  const AccessRecord* predecessor;
  DependencyNode::Link next;
  Place place;

  /// Never fails: to give up in the midst of the predecessors of an access would lose the order of the others.
  static Edge* make(AccessRecord* successor, const AccessRecord* predecessor) noexcept;
  void destroy() noexcept {
    if (place != Place::node) {
      give_back();
    }
  }

 private:
  void give_back() noexcept;
};

/// Marks the task of `record` as one that must not run, because of `cause`.
void poison(AccessRecord* record, Failure* cause) noexcept;
void retain_failure(Failure* failure) noexcept;

inline DependencyNode& AccessRecord::node() noexcept {
  return *reinterpret_cast<DependencyNode*>(reinterpret_cast<std::byte*>(this) - offset);
}

inline bool AccessRecord::is_closed_and_good() const noexcept {
  const DependencyNode::Link word = node().successors_.load(std::memory_order_acquire);
  return (word & DependencyNode::closed) != 0 &&
         ((word & DependencyNode::bad) == 0 || !is_bad_after_failure() || node().is_forgiven());
}

inline bool AccessRecord::is_closed_and_bad() const noexcept {
  return (node().successors_.load(std::memory_order_acquire) & DependencyNode::bad) != 0 && is_bad_after_failure() &&
         !node().is_forgiven();
}

inline void AccessRecord::drop() noexcept { node().let_go_of_record(); }

template <class Released>
void DependencyNode::close(Failure* cause, Released&& released) {
  if (cause != nullptr) {
    retain_failure(cause);
    failure_ = cause;
  }
  Link word = successors_.load(std::memory_order_acquire);
  // After the table has let go no other thread changes the word.
  if ((word & dropped) == 0) {
    word = successors_.exchange(closed | (cause != nullptr ? bad : left), std::memory_order_acq_rel);
  }
  for (Link link = word & ~flags; link != 0;) {
    AccessRecord* successor = nullptr;
    const AccessRecord* predecessor = nullptr;
    if ((link & through_edge) == 0) {
      successor = reinterpret_cast<AccessRecord*>(link);
      predecessor = successor->predecessor;
      link = successor->next_link;
    } else {
      auto* edge = reinterpret_cast<Edge*>(link & ~through_edge);
      successor = edge->successor;
      predecessor = edge->predecessor;
      link = edge->next;
      edge->destroy();
    }
    // A bad node has not been left yet, so that its records are there.
    if (cause != nullptr && predecessor->is_bad_after_failure() && successor->reads()) {
      poison(successor, cause);
    }
    released(successor->node().task());
  }
  const bool last = (word & dropped) != 0 ||
                    (cause != nullptr && (successors_.fetch_or(left, std::memory_order_acq_rel) & dropped) != 0);
  if (last) {
    destroy();
  }
}

template <class Visit>
void DependencyNode::for_each_successor(Visit&& visit) const {
  for (Link link = successors_.load(std::memory_order_acquire) & ~flags; link != 0;) {
    const AccessRecord* successor = nullptr;
    if ((link & through_edge) == 0) {
      successor = reinterpret_cast<const AccessRecord*>(link);
      link = successor->next_link;
    } else {
      const auto* edge = reinterpret_cast<const Edge*>(link & ~through_edge);
      successor = edge->successor;
      link = edge->next;
    }
    visit(successor->node().task());
  }
}

}  // namespace dovetail::tasking
