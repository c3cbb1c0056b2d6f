// The waits of tasks for sources of events that the program made, as these tell them. For the reports of what a runtime waits
// for.
#pragma once

#include <algorithm>
#include <vector>

#include "base/mutex.hpp"
#include "tasking/wait_visitor.hpp"

namespace dovetail::tasking {

class Source {
 public:
  virtual ~Source() = default;
  /// Calls `visit` for each task that waits for one of the source's operations, with what that is.
  /// Returns false if it could not look.
  virtual bool for_each_wait(const VisitWait& visit) const = 0;
  /// Whether something is pending that polling may end.
  virtual bool has_pending() const noexcept = 0;
  /// The runtime ends, and does not ask the source any more.
  virtual void runtime_ends() noexcept = 0;
};

/// Of one runtime, which a source may outlive. Thread-safe.
class SourceRegistry {
 public:
  void add(Source* source) {
    const base::LockGuard lock(mutex_);
    sources_.push_back(source);
  }
  void remove(const Source* source) {
    const base::LockGuard lock(mutex_);
    std::erase(sources_, source);
  }
  void runtime_ends() noexcept {
    const base::LockGuard lock(mutex_);
    for (Source* source : sources_) {
      source->runtime_ends();
    }
    sources_.clear();
  }
  bool has_pending() const noexcept {
    const base::LockGuard lock(mutex_);
    return std::ranges::any_of(sources_, [](const Source* source) { return source->has_pending(); });
  }
  /// Of all sources. Returns whether all could look.
  bool for_each_wait(const VisitWait& visit) const {
    const base::LockGuard lock(mutex_);
    bool all = true;
    for (const Source* source : sources_) {
      all = source->for_each_wait(visit) && all;
    }
    return all;
  }

 private:
  mutable base::Mutex mutex_;
  std::vector<Source*> sources_ GUARDED_BY(mutex_);
};

}  // namespace dovetail::tasking
