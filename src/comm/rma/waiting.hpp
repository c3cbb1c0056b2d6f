// How calls of the program wait: a task pauses, or completes later; a thread outside of tasks blocks.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "base/fifo.hpp"
#include "comm/rma/engine.hpp"
#include "comm/rma/group.hpp"
#include "comm/rma/waiter.hpp"
#include "tasking/pause.hpp"

namespace dovetail::comm::rma {

/// @throws std::logic_error if there is none
Group& group_of_process();
/// A task that waits for nothing hears of the end of a process, too.
void look_for_ends(Group& in);
/// @throws dovetail::rma::Error if it has ended
void require_there(Group& in, const Peer& peer);
/// Looks at what has come, and tells what has waited for it.
void take_what_has_come(Group& in);
/// Whether the wait of the calling task or thread has ended, without a pause: by what has come, or what comes while its worker has nothing else to run.
/// Never in an onready.
bool comes_in_a_moment(Group& in, Await& await);
/// One look of a thread that blocks, which begins with `rounds` 0: after some of them it sleeps for a moment, or until something comes.
class Blocking {
 public:
  explicit Blocking(Group& in) noexcept;
  void look();
  void rest() const;

 private:
  Group& in_;
  const std::chrono::steady_clock::time_point end_of_looks_;
};

/// Blocks the thread until `is_so`, and takes what comes meanwhile.
template <class IsSo>
void block_until(Group& in, const IsSo& is_so) {
  Blocking blocking(in);
  for (;;) {
    blocking.look();
    if (is_so()) {
      return;
    }
    blocking.rest();
  }
}

/// Returns when what `begin` begins has ended. `begin` returns whether that is so already. `instead`: what an onready may do, as the end of a sentence.
/// @throws What it failed with, std::logic_error in an onready
template <class Begin>
void wait(Group& in, Waiter& waiter, const char* instead, const Begin& begin) {
  waiter.task = tasking::current_task();
  if (waiter.task == nullptr) {
    if (tasking::task_in_onready() != nullptr) {
      throw std::logic_error(waiter.text() + " would be waited for in an onready; " + instead);
    }
    waiter.then = Waiter::Then::tell;
    if (!begin()) {
      block_until(in, [&] { return waiter.has_ended.load(std::memory_order_acquire); });
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
