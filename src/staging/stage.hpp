// What staged files share: the lock, the memory for copies, and how threads wait for transfers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/memory_budget.hpp"
#include "base/overlap.hpp"
#include "base/process_mutex.hpp"
#include "staging/buffer_pool.hpp"

namespace dovetail::staging {

/// Not a lock of base/mutex.hpp: it is handed to functions that let go of it for a while, which the check cannot follow.
using Lock = std::unique_lock<base::ProcessMutex>;

/// Guarded by the lock of the `Stage`. Times in nanoseconds.
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

/// Something with transfers of its own. All functions want the lock held. Those that return true have let go of it meanwhile, and the
/// object may be gone.
class Participant {
 public:
  Participant() = default;
  Participant(const Participant&) = delete;
  Participant& operator=(const Participant&) = delete;
  virtual ~Participant() = default;
  /// Makes one transfer that no task has begun. False: there is none.
  virtual bool help(Lock& /*lock*/) { return false; }
  /// Makes a task for transfers that have none. False: there are none.
  virtual bool start(Lock& /*lock*/) { return false; }
  /// Gives back what is kept for transfers to come.
  virtual void rest() noexcept {}
  /// In the child of a fork: what there is belongs to the parent.
  virtual void forget() noexcept {}
};

/// Nobody waits for a task that has not begun: who waits makes transfers, until there is nothing to do but to wait for other threads' system
/// calls. So a program whose runtime has no thread to spare is slow at worst.
class Stage : public std::enable_shared_from_this<Stage> {
 public:
  /// Both must outlive it. The second is told of transfers in the background, and of waiting for them.
  Stage(base::MemoryBudget& budget, base::Overlap& told);
  /// That of the process, which settles before a fork and at the end of the process. Made by the first call, and never destroyed.
  static Stage& of_process(base::MemoryBudget& budget, base::Overlap& overlap);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  /// Guards everything here and in what uses it. Held for a few instructions and copies, never during a transfer.
  base::ProcessMutex mutex;
  BufferPool pool;
  base::Overlap& overlap;
  Statistics statistics;
  std::vector<Participant*> participants;
  /// Transfers that have been asked for and have not ended.
  std::size_t outstanding = 0;
  /// Files of which a write has failed.
  unsigned failures = 0;

  /// Goes up in the child of a fork. What was made before is the parent's.
  unsigned generation() const noexcept { return generation_; }

  /// Returns when `ready` says so. Makes transfers until then: those of `only`, or of all. Adds to `waited` how long it took.
  template <class Ready>
  void wait(Lock& lock, std::uint64_t& waited, const Ready& ready, Participant* only = nullptr) {
    if (ready()) {
      return;
    }
    const base::Overlap::Wait waiting(overlap);
    const std::uint64_t begin = base::nanoseconds();
    while (!ready()) {
      if (!help(lock, only) && !ready()) {
        sleep(lock);
      }
    }
    waited += base::nanoseconds() - begin;
  }
  /// The same for at most `nanoseconds`, by tasks alone; whether it came true.
  bool wait_for(Lock& lock, std::uint64_t nanoseconds, std::uint64_t& waited, const std::function<bool()>& ready);
  /// To be called with the lock held, after anything that somebody may wait for.
  void notify() noexcept {
    if (waiting_ != 0) {
      changed_->notify_all();
    }
  }
  /// Waits for all transfers.
  void drain(std::uint64_t& waited) noexcept;

  /// Has tasks made for what is pending a moment later, so that small transfers are made together. With the lock not held. False: it
  /// cannot be done.
  bool start_soon() noexcept;
  /// Has memory and room that nobody uses be given back after a while. With the lock not held.
  void tidy_when_idle() noexcept;

 private:
  bool help(Lock& lock, Participant* only);
  void start_all(Lock& lock);
  void sleep(Lock& lock);
  bool call_later(std::chrono::nanoseconds time, void (Stage::*call)() noexcept) noexcept;
  void start_what_waits() noexcept;
  void look_again_later() noexcept;
  void look_whether_idle() noexcept;
  void tidy() noexcept;
  void forget_parent() noexcept;

  // Another one in the child of a fork, since nothing is known of threads that waited.
  std::unique_ptr<std::condition_variable_any> changed_;
  unsigned waiting_ = 0;
  unsigned generation_ = 0;
  bool starting_ = false;
  bool tidying_ = false;
  unsigned long activity_ = 0;  // of the pool, when it was last looked at
  base::TimePoint look_again_;
};

}  // namespace dovetail::staging
