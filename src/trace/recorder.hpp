// Owns the rings of all threads and what is known about the current recording. Private to this room and its tests.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "base/starter.hpp"
#include "trace/clock.hpp"
#include "trace/names.hpp"
#include "trace/ring.hpp"
#include "trace/slice_clock.hpp"
#include "trace/trace.hpp"

namespace dovetail::trace {

/// What one thread recorded, in the order in which it happened.
struct ThreadEvents {
  ThreadKind kind = ThreadKind::other;
  unsigned index = 0;      ///< Number of the worker or executor.
  int system_id = 0;       ///< As the kernel numbers threads.
  bool is_main = false;    ///< The thread that ran `main`.
  std::uint64_t lost = 0;  ///< Older events that were overwritten.
  std::vector<Event> events;
};

/// A copy of a recording, detached from the threads that made it.
struct Recording {
  std::vector<ThreadEvents> threads;
  std::vector<std::string> names;  ///< Of tasks, files and reasons; see `name_at`.
  std::vector<std::string> operations;
  ClockScale clock;
  bool counter = false;    ///< The clock was the processor's counter.
  std::int64_t begin = 0;  ///< When it began: nanoseconds of CLOCK_MONOTONIC.
  base::ProcessRank process;
  std::uint64_t lost = 0;  ///< Events that were overwritten or could not be kept, over all threads.
};

/// A thread's ring and what only the thread itself or the recorder's lock may touch.
struct alignas(64) ThreadBuffer {
  explicit ThreadBuffer(std::size_t capacity) : ring(capacity) {}

  Ring ring;
  NameCache names;  // Owner only, as are the operations.
  NameCache operations;
  SliceClock slices;  // Owner only.
  // The number of the recording whose events the ring holds. The owner stores it after `Ring::forget`; the reader that
  // finds the number of its recording (acquire) finds no older events.
  std::atomic<std::uint64_t> recording{0};
  std::atomic<ThreadKind> kind{ThreadKind::other};
  std::atomic<unsigned> index{0};
  int system_id = 0;  // Written before the buffer is published under the lock.
  bool is_main = false;
  bool ended = false;  // Under the recorder's lock: the thread is no more.
};

class Recorder {
 public:
  /// Never destroyed: threads may outlive static objects.
  static Recorder& instance() noexcept;

  void start();
  void stop();
  Recording copy() const;

  /// Events that a thread keeps, rounded up to a power of two; for buffers that are made from now on. The default is
  /// 2^19, or `DOVETAIL_TRACE_EVENTS`.
  void set_capacity(std::size_t events);
  /// Most buffers kept for threads that have ended. Beyond it, the longest ended thread's events make way.
  void set_ended_limit(std::size_t threads);
  /// Buffers that exist.
  std::size_t buffers() const;

  /// The calling thread's buffer, new. Null, and the loss counted, where memory is short.
  ThreadBuffer* attach(ThreadKind kind, unsigned index) noexcept;
  void detach(ThreadBuffer* buffer) noexcept;

  Names names{most_names};
  Names operations{most_operations};

 private:
  Recorder();
  void drop_oldest_ended() REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::vector<std::unique_ptr<ThreadBuffer>> buffers_ GUARDED_BY(mutex_);
  std::size_t capacity_ GUARDED_BY(mutex_);
  std::size_t ended_limit_ GUARDED_BY(mutex_) = 64;
  std::size_t ended_ GUARDED_BY(mutex_) = 0;
  ClockPair begin_ GUARDED_BY(mutex_);
  ClockPair end_ GUARDED_BY(mutex_);              // Of a recording that was stopped.
  std::atomic<std::uint64_t> lost_elsewhere_{0};  // In buffers that were dropped or could not be made.
};

}  // namespace dovetail::trace
