#pragma once

#include <fuse_lowlevel.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "fault_rules.hpp"

namespace dovetail::devices {

/// Answers that are held back: until a moment, or until released. No thread is bound while an answer waits, so any number
/// may. A signal to the caller ends its wait: the true answer is then given at once. Thread safe; delayed answers run on
/// the queue's own thread.
class FaultReplies {
 public:
  using Reply = std::function<void()>;

  /// FUSE calls `on_interrupt` when a signal interrupts a caller; it must pass that on to the member `interrupted`.
  explicit FaultReplies(fuse_interrupt_func_t on_interrupt);
  ~FaultReplies();
  FaultReplies(const FaultReplies&) = delete;
  FaultReplies& operator=(const FaultReplies&) = delete;

  /// Gives the answer to `request` now if the verdict asks for no wait, else later.
  void give(fuse_req_t request, const Verdict& verdict, Reply reply);
  /// Lets those go that verdicts with fewer releases hold, also those that are about to be given.
  void release_held(std::uint64_t releases);
  /// Gives the answer `reached` to `request` as soon as at least `count` answers wait, `abandoned` if a signal comes first.
  void when_waiting(fuse_req_t request, std::size_t count, Reply reached, Reply abandoned);
  /// The caller of the request that FUSE was given `data` for has a signal to handle, or the kernel interrupts for reasons of its own.
  void interrupted(fuse_req_t request, void* data);
  /// Gives every answer that still waits; nothing may be given afterwards. Idempotent.
  void stop();
  std::string describe() const;

 private:
  using Key = std::pair<Clock::time_point, std::uint64_t>;  // equal moments: first come, first served
  struct Due {
    Clock::time_point time;
    std::uint64_t releases;
  };
  struct Watcher {
    std::size_t count;
    Reply reached;
    Reply abandoned;
  };

  void run();
  /// Lets one answer, of either kind above, go.
  void hasten(std::uint64_t number);

  const fuse_interrupt_func_t interrupted_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Reply> waiting_;            // a held answer is due at the end of time
  std::map<std::uint64_t, Due> due_times_;  // of all that are in waiting_ or about to be
  std::map<std::uint64_t, Watcher> watchers_;
  std::set<std::uint64_t> new_watchers_;  // not hastened yet, not in watchers_ yet
  std::uint64_t releases_ = 0;
  std::uint64_t next_number_ = 1;
  std::size_t most_waiting_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace dovetail::devices
