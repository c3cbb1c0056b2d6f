// How calls of the program wait: a task pauses, or completes later; a thread outside of tasks blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "base/fifo.hpp"
#include "comm/rma/engine.hpp"
#include "comm/rma/group.hpp"
#include "comm/rma/waiter.hpp"
#include "tasking/pause.hpp"
#include "tasking/waiting_thread.hpp"

namespace dovetail::comm::rma {

/// @throws std::logic_error if there is none
Group& group_of_process();
/// The same, which is `own`: the child of a fork has copies of what belongs to its parent's. @throws std::logic_error if it is another one
Group& require_own(const Group* own);
/// What an onready may do that would wait, as the end of a sentence.
inline constexpr const char* only_in_bodies = "it belongs into a body";
/// Of a wait in an onready. `what`: the beginning of the sentence. @throws std::logic_error
[[noreturn]] void refuse_wait(const std::string& what, const char* instead);
/// A body waits for `what`. @throws std::logic_error in an onready
inline void refuse_in_onready(const char* what) {
  if (tasking::task_in_onready() != nullptr) [[unlikely]] {
    refuse_wait(what, only_in_bodies);
  }
}
/// A task that waits for nothing hears of the end of a process, too.
void look_for_ends(Group& in);
/// @throws dovetail::rma::Error if it has ended
void require_there(Group& in, const Peer& peer);
/// Looks at what has come, and tells what has waited for it.
void take_what_has_come(Group& in);
/// Whether the wait of the calling task or thread has ended, without a pause. What ends it has come, or comes while its worker has nothing else to run.
/// Never in an onready.
bool comes_in_a_moment(Group& in, Await& await);
/// A thread that blocks, and looks at what has come. After some time, it sleeps between two looks for a moment, or until something comes.
class BlockedThread {
 public:
  explicit BlockedThread(Group& in) noexcept;
  void look();
  void rest() const;

 private:
  Group& in_;
  const std::chrono::steady_clock::time_point end_of_looks_;
};

/// Blocks the thread until `is_so`, and takes what comes meanwhile. Nothing of the caller's is entered anywhere, since Ctrl-C may end this.
/// @throws tasking::WaitInterrupted
template <class IsSo>
void block_until(Group& in, const IsSo& is_so) {
  tasking::WaitingThread thread(nullptr);
  for (BlockedThread blocked(in);; blocked.rest()) {
    blocked.look();
    if (is_so()) {
      return;
    }
    if (thread.look()) {
      throw tasking::WaitInterrupted();
    }
  }
}

/// Returns when what `begin` begins has ended. `begin` returns whether that is so already. `instead`: what an onready may do, as the end of a sentence.
/// `abandon`: after Ctrl-C, sees to it that nothing refers to the waiter any more; or returns false, since it ends in a moment. Null: Ctrl-C ends nothing.
/// @throws What it failed with, std::logic_error in an onready, tasking::WaitInterrupted
template <class Begin, class Abandon = std::nullptr_t>
void wait(Group& in, Waiter& waiter, const char* instead, const Begin& begin, const Abandon& abandon = {}) {
  waiter.task = tasking::current_task();
  if (waiter.task == nullptr) {
    if (tasking::task_in_onready() != nullptr) {
      refuse_wait(waiter.text(), instead);
    }
    waiter.then = Waiter::Then::tell;
    if (!begin()) {
      [[maybe_unused]] tasking::WaitingThread thread(nullptr);
      bool is_interrupted = false;
      BlockedThread blocked(in);
      for (blocked.look(); !waiter.has_ended.load(std::memory_order_acquire); blocked.look()) {
        if constexpr (!std::is_null_pointer_v<Abandon>) {
          is_interrupted = is_interrupted || thread.look();
          if (is_interrupted && abandon()) {
            break;
          }
        }
        blocked.rest();
      }
      if (is_interrupted) {
        throw tasking::WaitInterrupted();
      }
    }
  } else {
    waiter.then = Waiter::Then::wake;
    waiter.engine = &Engine::of(waiter.task);
    waiter.engine->begin();
    tasking::prepare_pause(waiter.task);
    bool has_ended = true;
    try {
      has_ended = begin();
    } catch (...) {
      waiter.cause = std::current_exception();
    }
    if (has_ended) {
      waiter.engine->withdraw();
      tasking::wake(waiter.task);
    }
    tasking::pause(waiter.task, tasking::WaitReason::operation);
  }
  if (waiter.cause) {
    std::rethrow_exception(waiter.cause);
  }
}

/// Binds what `begin` begins to the task. `begin` is given the waiter, which may be gone when it returns false; true: it has ended already.
template <class Kind, class Begin>
void bind_to_task(Task* task, std::unique_ptr<Kind> waiter, const Begin& begin) {
  waiter->then = Waiter::Then::fulfil;
  waiter->task = task;
  waiter->engine = &Engine::of(task);
  tasking::bind_event();
  waiter->engine->begin();
  bool has_ended = false;
  try {
    has_ended = begin(*waiter);
  } catch (...) {
    waiter->engine->withdraw();
    tasking::fulfill_event(task);
    throw;
  }
  Waiter* const entered = waiter.release();
  if (has_ended) {
    base::Fifo<Waiter> ended;
    ended.push(*entered);
    Engine::tell(ended);
  }
}

}  // namespace dovetail::comm::rma
