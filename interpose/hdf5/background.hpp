// What all files of the process share: the runtime that moves their bytes, the memory for copies, the lock, and what happens to
// them when the process forks or exits. HDF5 is never called from here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "base/process_mutex.hpp"
#include "buffer_pool.hpp"
#include "dovetail/task.hpp"
#include "operation.hpp"
#include "report.hpp"

namespace dovetail {
class Runtime;
struct Options;
}  // namespace dovetail

namespace dovetail::hdf5 {

class DeferredFile;
using Lock = std::unique_lock<base::ProcessMutex>;

/// Nanoseconds of the steady clock.
std::uint64_t now() noexcept;

/// Never destroyed: HDF5 closes what the program left open after the destructors of this library would have run.
class Background {
 public:
  static Background& instance();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() = delete;

  /// Guards everything here and in `DeferredFile`. Held for a few instructions and copies, never while a file is moved.
  base::ProcessMutex mutex;
  BufferPool pool;
  Report report;
  std::vector<DeferredFile*> files;
  /// Files of which a write has failed.
  unsigned failures = 0;

  bool any_failed() noexcept {
    const Lock lock(mutex);
    return failures != 0;
  }

  /// Goes up in the child of a fork. What was made before is the parent's.
  unsigned generation() const noexcept { return generation_; }
  /// Runs `body`, which waits for a device, in the background. Not with the lock held. False: there can be no runtime, or no memory
  /// for the task.
  bool spawn(const std::string& label, std::function<void()> body) noexcept;
  /// The same for one that computes.
  bool spawn_computation(const std::string& label, std::function<void()> body) noexcept;
  /// Waits until `ready` says so, which is asked again after every `announce`.
  template <class Ready>
  void wait(Lock& lock, Cause cause, Ready ready) {
    if (ready()) {
      return;
    }
    const std::uint64_t begin = now();
    hurry();
    ++waiting_;
    changed_->wait(lock, ready);
    --waiting_;
    report.waited[static_cast<std::size_t>(cause)] += now() - begin;
  }
  /// For tasks: until `ready`, or until `time` has passed.
  void idle(Lock& lock, std::chrono::nanoseconds time, const std::function<bool()>& ready) {
    ++waiting_;
    changed_->wait_for(lock, time, ready);
    --waiting_;
  }
  /// As `wait`, for at most `nanoseconds`; whether it came true.
  bool wait_for(Lock& lock, std::uint64_t nanoseconds, const std::function<bool()>& ready);
  /// To be called with the lock held, after anything that somebody may wait for.
  void announce() noexcept {
    if (waiting_ != 0) {
      changed_->notify_all();
    }
  }
  /// Waits for all transfers of all files.
  void drain(Cause cause) noexcept;
  /// Has memory and room that nobody uses be given back after a while. Not with the lock held.
  void tidy_when_idle() noexcept;
  /// Ends the runtime if no file is open; the next transfer makes another.
  void rest() noexcept;

 private:
  Background();
  struct Place {
    Runtime* runtime = nullptr;
    bool refused = false;  // There can be none, and it has been said.
  };
  Runtime* runtime_in(Place& place, const Options& options, const char* consequence);
  bool spawn_in(Place& place, const Options& options, const char* consequence, const TaskDescription& task,
                std::function<void()> body) noexcept;
  void hurry() noexcept;
  void tidy() noexcept;

  std::condition_variable_any* changed_;
  unsigned waiting_ = 0;
  unsigned generation_ = 0;
  bool tidying_ = false;
  bool ending_ = false;  // the runtimes are
  Place movers_;
  Place compressors_;
};

}  // namespace dovetail::hdf5
