// Who is in the MPI library, and what others hand over to whoever that is: threads that fight for the library's lock lose more than they
// gain (TAGASPI, docs/papers.md, section VI-C).
#pragma once

#include <atomic>

#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

/// One thread of the process has the turn at a time, whatever runtime it belongs to; each runtime has its own submissions. Nobody waits for it: who does not get it leaves the operation to who has it, and that one looks once
/// more after it has given the turn back. So every operation that was submitted is seen.
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

  bool try_enter() noexcept {
    return !taken_.load(std::memory_order_seq_cst) && !taken_.exchange(true, std::memory_order_seq_cst);
  }
  void leave() noexcept { taken_.store(false, std::memory_order_seq_cst); }

  /// All that was submitted, oldest first, linked by `next`. By whoever has the turn.
  Operation* take() noexcept {
    if (submitted_.load(std::memory_order_relaxed) == nullptr) {
      return nullptr;
    }
    Operation* newest = submitted_.exchange(nullptr, std::memory_order_acquire);
    Operation* oldest = nullptr;
    while (newest != nullptr) {
      Operation* const before = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = before;
    }
    return oldest;
  }

 private:
  alignas(64) static inline constinit std::atomic<bool> taken_{false};
  alignas(64) std::atomic<Operation*> submitted_{nullptr};
};

}  // namespace dovetail::comm::mpi
