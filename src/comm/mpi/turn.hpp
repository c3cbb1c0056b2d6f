// Which thread is in the MPI library, and what others hand over to it. Threads that fight for the library's lock lose more than they
// gain (TAGASPI, docs/papers.md, section VI-C).
#pragma once

#include <atomic>

#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

/// One thread of the process has the turn at a time, whatever runtime it belongs to; each runtime has its own submissions. No thread blocks to
/// get it. A thread that does not get it leaves its operation to the one that has it. That one looks for submissions once more after it has given
/// the turn back. So every operation that was submitted is seen.
class Turn {
 public:
  /// Any thread.
  void submit(Operation* operation) noexcept {
    Operation* first = submitted_.load(std::memory_order_relaxed);
    do {
      operation->next = first;
    } while (!submitted_.compare_exchange_weak(first, operation, std::memory_order_seq_cst, std::memory_order_relaxed));
  }
  bool holds_submissions() const noexcept { return submitted_.load(std::memory_order_seq_cst) != nullptr; }

  static bool try_enter() noexcept {
    return !taken_.load(std::memory_order_seq_cst) && !taken_.exchange(true, std::memory_order_seq_cst);
  }
  static void leave() noexcept { taken_.store(false, std::memory_order_seq_cst); }
  /// Leaves when it ends, for what may throw.
  class Leaving {
   public:
    Leaving() = default;
    ~Leaving() { leave(); }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
  };

  /// @name In the child of a fork, by its only thread: the one that had the turn is the parent's, and so are the submissions
  /// @{
  static void forget_holder() noexcept { taken_.store(false, std::memory_order_relaxed); }
  void forget() noexcept { submitted_.store(nullptr, std::memory_order_relaxed); }
  /// @}

  /// All that was submitted, oldest first, linked by `next`. By the thread that has the turn.
  Operation* take() noexcept {
    if (submitted_.load(std::memory_order_relaxed) == nullptr) {
      return nullptr;
    }
    return move_to_front(nullptr, submitted_.exchange(nullptr, std::memory_order_acquire));
  }

 private:
  alignas(64) static inline constinit std::atomic<bool> taken_{false};
  alignas(64) std::atomic<Operation*> submitted_{nullptr};
};

}  // namespace dovetail::comm::mpi
