// What staged files share: the lock, the memory for copies, and how threads wait for transfers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/memory_budget.hpp"
#include "base/overlap.hpp"
#include "staging/buffer_pool.hpp"
#include "staging/stage_lock.hpp"

namespace dovetail::staging {

/// Times in nanoseconds.
struct Statistics {
  std::uint64_t waited_for_space = 0;      ///< In memory.
  std::uint64_t waited_for_room = 0;       ///< On a file system.
  std::uint64_t waited_for_transfers = 0;  ///< Of the same bytes.
  std::uint64_t waited_before_forks = 0;
  std::uint64_t writes = 0;  ///< Transfers to files; what was appended to one that waited is part of it.
  std::uint64_t bytes_copied = 0;
  std::uint64_t bytes_kept = 0;                     ///< Written from the caller's own memory.
  std::uint64_t bytes_from_pending = 0;             ///< Read from what was not yet in its file.
  std::map<std::string, std::uint64_t> foreground;  ///< Transfers that the program made itself, by reason.
};

/// Something with transfers of its own. Functions that return true have given the lock back meanwhile, and the object may be gone.
class Participant {
 public:
  Participant() = default;
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;
  virtual ~Participant() = default;
  /// Makes one transfer that no task has begun. False: there is none.
  virtual bool help() REQUIRES(stage_lock) { return false; }
  /// Makes a task for transfers that have none. False: there are none.
  virtual bool start() REQUIRES(stage_lock) { return false; }
  /// Gives back what is kept for transfers to come.
  virtual void rest() noexcept REQUIRES(stage_lock) {}
  /// In the child of a fork: what there is belongs to the parent.
  virtual void forget() noexcept REQUIRES(stage_lock) {}
};

/// No thread waits for a task that has not begun. A thread that waits makes transfers itself, until only system calls of other threads are left to
/// wait for. So a program whose runtime has no thread to spare is slow at worst.
class Stage : public std::enable_shared_from_this<Stage> {
 public:
  /// Both must outlive it. The second is told of transfers in the background, and of waiting for them.
  Stage(base::MemoryBudget& budget, base::Overlap& told);
  /// That of the process, which settles before a fork and at the end of the process. Made by the first call, and never destroyed.
  static Stage& of_process(base::MemoryBudget& budget, base::Overlap& overlap);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  StageMutex mutex;
  base::Overlap& overlap;
  BufferPool pool GUARDED_BY(stage_lock);
  Statistics statistics GUARDED_BY(stage_lock);
  std::vector<Participant*> participants GUARDED_BY(stage_lock);
  /// Transfers that have been asked for and have not ended.
  std::size_t outstanding GUARDED_BY(stage_lock) = 0;
  /// Files of which a write has failed.
  unsigned failures GUARDED_BY(stage_lock) = 0;

  /// Goes up in the child of a fork. Objects that were made before are the parent's.
  unsigned generation() const noexcept { return generation_; }

  /// Returns when `ready` says so, which is asked under the lock. Makes transfers until then: those of `only`, or of all. Adds to `waited` how long it took.
  template <class Ready>
  void wait(std::uint64_t& waited, const Ready& ready, Participant* only = nullptr) REQUIRES(stage_lock) {
    if (ready()) {
      return;
    }
    const base::Overlap::Wait waiting(overlap);
    const std::uint64_t begin = base::nanoseconds();
    while (!ready()) {
      if (!help(only) && !ready()) {
        sleep();
      }
    }
    waited += base::nanoseconds() - begin;
  }
  /// The same for at most `nanoseconds`, by tasks alone; whether it came true.
  bool wait_for(std::uint64_t nanoseconds, std::uint64_t& waited, const std::function<bool()>& ready)
      REQUIRES(stage_lock);
  /// Wakes the threads that `wait`, which ask `ready` again. The caller has changed what one of them may wait for.
  void notify() noexcept REQUIRES(stage_lock) {
    if (waiting_ != 0) {
      changed_->notify_all();
    }
  }
  /// Waits for all transfers. Adds to `waited` or to that counter of `statistics` how long it took.
  void drain(std::uint64_t& waited) noexcept EXCLUDES(stage_lock);
  void drain(std::uint64_t Statistics::* counter) noexcept EXCLUDES(stage_lock);

  /// Has tasks made for what is pending a moment later, so that small transfers are made together. False: it cannot be done.
  bool start_soon() noexcept EXCLUDES(stage_lock);
  /// When the stage has been idle for a second, a task gives its unused memory and reserved space back to the system.
  void tidy_when_idle() noexcept EXCLUDES(stage_lock);

 private:
  bool help(Participant* only) REQUIRES(stage_lock);
  void start_all() REQUIRES(stage_lock);
  void sleep() REQUIRES(stage_lock);
  bool call_later(std::chrono::nanoseconds time, void (Stage::*call)() noexcept) noexcept;
  void start_what_waits() noexcept;
  void look_again_later() noexcept;
  void look_whether_idle() noexcept;
  void tidy() noexcept;
  void forget_parent() noexcept;

  // Another one in the child of a fork, since nothing is known of threads that waited.
  std::unique_ptr<std::condition_variable_any> changed_ GUARDED_BY(stage_lock);
  unsigned waiting_ GUARDED_BY(stage_lock) = 0;
  unsigned generation_ = 0;
  bool starting_ GUARDED_BY(stage_lock) = false;
  bool tidying_ GUARDED_BY(stage_lock) = false;
  unsigned long activity_ GUARDED_BY(stage_lock) = 0;  // of the pool, when it was last looked at
  base::TimePoint look_again_ GUARDED_BY(stage_lock);
};

}  // namespace dovetail::staging
