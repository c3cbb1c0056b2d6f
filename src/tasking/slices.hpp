// The slices of a worker: what it runs between two looks for work, for as long as it has operations in flight. Whether the next one will be
// short decides what is told to others, and when.
#pragma once

#include <cstdint>
#include <utility>

#include "tasking/slice_predictor.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

class Slices {
 public:
  static SliceKind kind_of(const Task* task) noexcept {
    return {task->operations, task->fiber != nullptr ? task->wait_reason : WaitReason::none};
  }
  bool is_surely_short(const Task* task) const noexcept { return predictor_.is_surely_short(kind_of(task)); }
  bool may_be_long(const SliceKind& kind) const noexcept { return !predictor_.is_short(kind); }

  /// Times are in ticks.
  void begin(const SliceKind& kind, std::uint64_t now) noexcept {
    kind_ = kind;
    begin_ = now;
  }
  /// So much of the slice that runs is not its own time.
  void leave_out(std::uint64_t ticks) noexcept { begin_ += ticks; }
  void end(std::uint64_t now) noexcept { predictor_.observe(kind_, now - std::exchange(begin_, 0)); }
  /// Whether a slice has begun and not ended.
  bool is_measuring() const noexcept { return begin_ != 0; }
  /// A task has been queued whose slice will surely be short; until `forget_short` there may be one.
  void note_short() noexcept { short_queued_ = true; }
  void forget_short() noexcept { short_queued_ = false; }
  /// Whether the slice of the task may be long while a short one is at hand.
  bool gives_way(const Task* task) const noexcept { return short_queued_ && !is_surely_short(task); }
  /// Whether the slice that runs is surely short. True if none runs.
  bool runs_short() const noexcept { return begin_ == 0 || predictor_.is_surely_short(kind_); }

 private:
  SlicePredictor predictor_;
  SliceKind kind_;
  std::uint64_t begin_ = 0;
  bool short_queued_ = false;
};

}  // namespace dovetail::tasking
