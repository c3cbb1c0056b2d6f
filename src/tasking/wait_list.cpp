#include "tasking/wait_list.hpp"

#include <thread>
#include <utility>

#include "base/spin_lock.hpp"

// The word is the address of the last node, which leads to the one before it; or `completed_mark`. A node is put in by one exchange. For
// taking one out of the middle the word is marked as being changed for the few instructions that this takes.

namespace dovetail::tasking {
namespace {

constexpr std::uintptr_t being_changed = 2;

std::uintptr_t bits(const WaitNode* word) noexcept { return reinterpret_cast<std::uintptr_t>(word); }
WaitNode* with_bits(std::uintptr_t word) noexcept { return reinterpret_cast<WaitNode*>(word); }

// Returns the word at a time at which no thread takes a node out.
WaitNode* read_unmarked(const WaitWord& waiters) noexcept {
  WaitNode* word = waiters.load(std::memory_order_acquire);
  for (unsigned attempt = 1; (bits(word) & being_changed) != 0; ++attempt) {
    if (attempt % 128 == 0) {
      std::this_thread::yield();  // the thread that changes it may have been preempted
    }
    base::cpu_relax();
    word = waiters.load(std::memory_order_acquire);
  }
  return word;
}

bool replace(WaitWord& waiters, WaitNode* expected, WaitNode* desired) noexcept {
  return waiters.compare_exchange_weak(expected, desired, std::memory_order_acq_rel, std::memory_order_relaxed);
}

WaitNode* in_order_of_arrival(WaitNode* last) noexcept {
  WaitNode* first = nullptr;
  while (last != nullptr) {
    WaitNode* const before = std::exchange(last->next, first);
    first = std::exchange(last, before);
  }
  return first;
}

}  // namespace

bool enlist(WaitWord& waiters, WaitNode* node) noexcept {
  for (;;) {
    WaitNode* const last = read_unmarked(waiters);
    if (last == completed_mark()) {
      return false;
    }
    node->next = last;
    if (replace(waiters, last, node)) {
      return true;
    }
  }
}

bool withdraw(WaitWord& waiters, const WaitNode* node) noexcept {
  for (;;) {
    WaitNode* last = read_unmarked(waiters);
    if (last == completed_mark()) {
      return false;
    }
    if (!replace(waiters, last, with_bits(bits(last) | being_changed))) {
      continue;
    }
    WaitNode** link = &last;
    while (*link != node) {
      link = &(*link)->next;
    }
    *link = node->next;
    waiters.store(last, std::memory_order_release);
    return true;
  }
}

WaitNode* close_waits(WaitWord& waiters) noexcept {
  for (;;) {
    WaitNode* const last = read_unmarked(waiters);
    if (replace(waiters, last, completed_mark())) {
      return in_order_of_arrival(last);
    }
  }
}

}  // namespace dovetail::tasking
