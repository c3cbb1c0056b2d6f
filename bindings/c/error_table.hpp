// The last error of each task. A thread-local would be left behind when a task goes on in another thread, so errors
// are found by task instead.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <unordered_map>

#include "base/process_mutex.hpp"
#include "dovetail/detail/body.hpp"
#include "error_record.hpp"

namespace dovetail::c {

/// Thread-safe; an error itself is touched only by the task that it belongs to.
class ErrorTable {
 public:
  ErrorTable() = default;
  ErrorTable(const ErrorTable&) = delete;
  ErrorTable& operator=(const ErrorTable&) = delete;

  /// The error of `task`, made if there is none. Valid until `erase`.
  Error& place(detail::Task* task);
  /// The error of `task`, or null.
  const Error* find(detail::Task* task) noexcept;
  void erase(detail::Task* task) noexcept;

 private:
  // A task whose error is kept is retained, so that no new task can be taken for it. Tasks spawned from C say when
  // they end; those from C++ do not and are dropped, once completed, when a shard has grown.
  struct Entry {
    explicit Entry(detail::Task* of) noexcept : task(of) { detail::retain(task); }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { detail::release(task); }
    detail::Task* task;
    Error error;
  };
  struct Shard {
    base::ProcessMutex mutex;
    std::unordered_map<detail::Task*, std::unique_ptr<Entry>> entries GUARDED_BY(mutex);
    std::size_t sweep_above GUARDED_BY(mutex) = 16;
    // Lets the many tasks that end without an error pass by without the mutex. A task sees at least the entry it
    // made itself, in program order, and no other thread makes one for it: relaxed suffices.
    std::atomic<std::size_t> count{0};
  };

  Shard& shard_of(detail::Task* task) noexcept;

  std::array<Shard, 32> shards_;
};

}  // namespace dovetail::c
