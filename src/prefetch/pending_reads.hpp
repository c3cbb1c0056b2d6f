// Which bytes tasks will read that cannot begin yet, in the order in which they were spawned.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/byte_range.hpp"

namespace dovetail::prefetching {

/// Part of a file, which the number of its space names (`File::space`).
struct FilePart {
  std::uint64_t space = 0;
  base::ByteRange range;
};

/// A task that has been spawned and has not completed.
struct PendingTask {
  std::vector<FilePart> reads;
  std::vector<FilePart> writes;

  // For PendingReads.
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;     // of all reads
  std::uint32_t writers = 0;   // pending tasks that write what it reads
  bool in_order = false;       // for the caller of `take`
  bool taken = false;          // its bytes are part of the window
  std::uint64_t taken_at = 0;  // for the caller of `take`
  bool begun = false;
  std::vector<std::shared_ptr<PendingTask>> readers;  // of what it writes
};

/// Not thread-safe.
class PendingReads {
 public:
  /// The task is being spawned: what it does comes after what those do that were entered before.
  void enter(const std::shared_ptr<PendingTask>& task);
  /// Its body is about to run. Its part of the window is free for others. May be called again.
  void begins(PendingTask& task) noexcept;
  /// It has completed, or never will run. Those that read what it wrote may be read ahead.
  void ends(PendingTask& task) noexcept;

  /// The next task whose reads are due, which now takes its part of a window of so many bytes. Null: there is none, or no room.
  /// `leave`: says of a task that it is to be left to itself.
  std::shared_ptr<PendingTask> take(std::uint64_t window, const std::function<bool(const PendingTask&)>& leave = {});
  /// Whether `take` would probably find one. After it found no room, an eighth of the window has to be free first.
  bool is_due(std::uint64_t window) const noexcept;
  /// Bytes of tasks that were taken and have not begun.
  std::uint64_t ahead() const noexcept { return ahead_; }

 private:
  using Bounds = std::pair<std::uint64_t, std::uint64_t>;
  struct Written {
    std::map<Bounds, PendingTask*> last;  // The last pending task that writes this region.
    std::uint64_t longest = 0;
  };
  /// The task waits for those that write what it reads. False: there are too many to look at.
  bool wait_for_writers(const std::shared_ptr<PendingTask>& task);
  bool fits(const PendingTask& task, std::uint64_t window) const noexcept;

  std::uint64_t next_number_ = 0;
  std::uint64_t ahead_ = 0;
  bool full_ = false;                                          // `take` found no room
  std::map<std::uint64_t, std::shared_ptr<PendingTask>> due_;  // by number
  std::unordered_map<std::uint64_t, Written> written_;         // by space
};

}  // namespace dovetail::prefetching
