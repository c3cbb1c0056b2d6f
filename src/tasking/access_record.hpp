// One access of one task, as a node of the dependency graph. See docs/design/dependencies.md.
//
// A record is shared by two owners: its task, until it completes, and the region table of the domain, until a later access
// replaces it. One atomic word holds the list of successors and says which owner has let go:
//
//   successors = first link | flags      link = address of a record or edge, with its kind in the low bits
//
// The table adds successors; the task closes the word when it completes, and from then on nothing is added. Whoever lets go
// second frees the record.
#pragma once

#include <atomic>
#include <cstdint>

#include "dovetail/access.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;
class Failure;

struct alignas(64) AccessRecord {
  using Link = std::uintptr_t;

  // Where the successor of a link is found. A successor is linked without an allocation in the two usual cases: through its own
  // record, if that has no other predecessor, or through the predecessor's record, if that has no other successor of this kind.
  static constexpr Link kind_mask = 3;
  static constexpr Link through_successor = 1;  ///< The record linked to is the successor; its `in_next` goes on.
  static constexpr Link through_predecessor =
      2;                                   ///< The record linked to is the predecessor; `out_successor`, `out_next`.
  static constexpr Link through_edge = 3;  ///< An `Edge` of its own.

  static constexpr Link dropped = 4;  ///< The table has let go.
  static constexpr Link closed = 8;   ///< The task has completed.
  static constexpr Link bad = 16;     ///< With `closed`: the data were not produced; `failure` says why.
  static constexpr Link flags = dropped | closed | bad;

  std::atomic<Link> successors{0};
  Task* task = nullptr;  ///< Valid while open.
  union {
    Link in_next = 0;  ///< Until the dependency is released.
    Failure* failure;  ///< When closed and bad: a reference of its own.
  };
  // Written before they are published by `successors`; read, perhaps too early and then again, by a task that completes.
  std::atomic<Link> out_next{0};
  std::atomic<AccessRecord*> out_successor{nullptr};
  AccessRecord* next_in_group = nullptr;  ///< Of the region table.
  AccessRecord* next_in_task = nullptr;
  AccessMode mode = AccessMode::in;
  bool in_used = false;   ///< `in_next` is taken.
  bool out_used = false;  ///< `out_next` and `out_successor` are taken.
  std::atomic<bool> poisoned{
      false};  ///< Reads data that were not produced. Written before the release of the dependency.

  bool reads() const noexcept { return mode != AccessMode::out; }
  bool writes() const noexcept { return mode != AccessMode::in; }

  static AccessRecord* make(Task* task, AccessMode mode);
  static void destroy(AccessRecord* record) noexcept;

  /// Makes `successor` wait for this access; for the table. With `drop`, the table lets go of this record.
  /// Returns how many dependencies that adds: 0 or 1.
  std::uint32_t precede(AccessRecord* successor, bool drop);
  /// The table lets go.
  void drop() noexcept;
  /// The task has completed; `cause` is its failure if successors must know of it. Calls `released(Task*)` for each dependency
  /// that ends. The record may be gone afterwards.
  template <class Released>
  void close(Failure* cause, Released&& released);
};

/// A link that fits neither of the two records it joins.
struct alignas(64) Edge {
  AccessRecord* successor;
  AccessRecord::Link next;

  static Edge* make(AccessRecord* successor);
  static void destroy(Edge* edge) noexcept;
};

/// Marks the task of `record` as one that must not run, because of `cause`.
void poison(AccessRecord* record, Failure* cause) noexcept;
void retain_failure(Failure* failure) noexcept;

template <class Released>
void AccessRecord::close(Failure* cause, Released&& released) {
  const bool is_bad = cause != nullptr && (poisoned.load(std::memory_order_relaxed) || writes());
  if (is_bad) {
    retain_failure(cause);
    failure = cause;
  }
  Link word = successors.load(std::memory_order_acquire);
  AccessRecord* own_successor = nullptr;
  Link own_next = 0;
  do {
    // Copied before the word is closed: then the table may free the record.
    own_successor = out_successor.load(std::memory_order_relaxed);
    own_next = out_next.load(std::memory_order_relaxed);
    // After the table has let go nobody else changes the word.
  } while ((word & dropped) == 0 &&
           !successors.compare_exchange_weak(word, closed | (is_bad ? bad : 0), std::memory_order_acq_rel,
                                             std::memory_order_acquire));
  if (is_bad && (word & dropped) != 0) {
    successors.store(bad, std::memory_order_relaxed);  // for `destroy`, which lets go of the failure
  }
  for (Link link = word & ~flags; link != 0;) {
    AccessRecord* successor = nullptr;
    if ((link & kind_mask) == through_successor) {
      successor = reinterpret_cast<AccessRecord*>(link & ~kind_mask);
      link = successor->in_next;
    } else if ((link & kind_mask) == through_predecessor) {
      successor = own_successor;
      link = own_next;
    } else {
      auto* edge = reinterpret_cast<Edge*>(link & ~kind_mask);
      successor = edge->successor;
      link = edge->next;
      Edge::destroy(edge);
    }
    if (is_bad && successor->reads()) {
      poison(successor, cause);
    }
    released(successor->task);
  }
  if ((word & dropped) != 0) {
    destroy(this);
  }
}

}  // namespace dovetail::tasking
