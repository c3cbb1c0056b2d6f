// I/O tasks of which no gate says how many may run at once. They have few places on executors, and more only if that cannot harm a device.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/priority_fifo.hpp"
#include "dovetail/options.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

/// Whether it is one of them.
bool is_open(const Task* task) noexcept;
/// Whether a paused task keeps its place: it waits for its time, and so for no other task. Any thread.
bool keeps_its_place(const Task* task) noexcept;

/// What a task does now. In the order of what is to be spared.
enum class Activity : std::uint8_t {
  waits,        ///< For another thread, or nothing is known.
  computes,     ///< Or could, if a core were free; it may be spinning until another thread does something.
  uses_a_file,  ///< Is in a call that waits for a file. Other threads do not have to act for it to end.
};
/// As the kernel says of a thread of this process. Costs some ten microseconds.
Activity activity_of(pid_t thread);
/// Of an open task that this thread runs. One that is paused until its time ends some time, as one that computes.
Activity activity_of(const Task* task, pid_t thread);

/// With how many places open tasks begin, if the program does not say how many executors it wants. Twice the workers are twice
/// the writers that it would have without I/O tasks. With four, two fill their buffers while two use the device.
unsigned places_to_begin_with(const Options& options) noexcept;

/// Open tasks that are ready, and the places of those that run: all that decides how many these are. Not thread-safe.
///
/// Each rule keeps a promise of docs/admission.md.
/// - *Few while they use a device*: the places of the beginning. None is added while a task uses a file, however long its call takes. An added
///   place goes when a task uses a file or none waits. Otherwise tasks that only begin by waiting, as for a process that starts, would be many for
///   good.
/// - *They may wait for each other*, so that as many places are needed as there are tasks. A look may add a place if no task has ended since the
///   last, all with a place have begun, and none uses a file. It adds one at once if all wait. If one computes, it does so after a second of such
///   looks, since that one may spin.
/// - *None waits for ever* behind others of higher priority: one in so many is taken in turn.
template <class Item>
class OpenPlaces {
 public:
  static constexpr std::chrono::milliseconds between_looks{20};
  static constexpr unsigned looks_in_a_second = 50;

  OpenPlaces(std::size_t first, std::size_t most) noexcept : first_(first), most_(most), places_(first) {}

  /// A task is ready. True: it has a place. False: it waits for one, and `look` is needed.
  bool take(Item& item) {
    if (taken_ < places_) {
      ++taken_;
      return true;
    }
    waiting_.push(item);
    return false;
  }
  /// A task that comes back from a pause takes one, whether there is one or not.
  void take_again() noexcept { ++taken_; }
  /// A task pauses. Returns the one that has the place now, or null.
  Item* give_back() noexcept {
    --taken_;
    return !waiting_.empty() && taken_ < places_ ? next() : nullptr;
  }
  /// A task is over. As `give_back`.
  Item* ended() noexcept {
    has_ended_ = true;
    return give_back();
  }

  /// Whether a look may change anything, and when.
  bool needs_looks() const noexcept { return !waiting_.empty() && first_ != most_; }
  std::chrono::milliseconds until_next_look() const noexcept { return (places_ < most_ ? 1 : 10) * between_looks; }
  /// Returns the task for which there is one more place, or null. `busiest` is called only if it matters what the tasks do.
  template <class Busiest>
  Item* look(bool all_have_begun, Busiest&& busiest) {
    const bool in_motion = std::exchange(has_ended_, false) || !all_have_begun;
    if (in_motion && places_ == first_) {
      quiet_looks_ = 0;
      return nullptr;
    }
    const Activity activity = busiest();
    if (in_motion || activity == Activity::uses_a_file) {
      places_ = activity == Activity::uses_a_file ? first_ : places_;
      quiet_looks_ = 0;
      return nullptr;
    }
    ++quiet_looks_;
    if (taken_ >= most_ || quiet_looks_ < (activity == Activity::waits ? 1 : looks_in_a_second)) {
      return nullptr;
    }
    quiet_looks_ = 0;
    places_ = std::max(places_, taken_) + 1;
    return next();
  }

 private:
  Item* next() noexcept {
    constexpr unsigned between_turns = 8;
    Item* const item = waiting_.pop(++begun_ % between_turns == 0 ? base::Order::in_turn : base::Order::by_priority);
    ++taken_;
    places_ = waiting_.empty() ? first_ : places_;
    return item;
  }

  const std::size_t first_;
  const std::size_t most_;
  std::size_t places_;
  std::size_t taken_ = 0;
  base::PriorityFifo<Item> waiting_;
  unsigned begun_ = 0;        // of those that waited
  bool has_ended_ = false;    // one, since the last look
  unsigned quiet_looks_ = 0;  // in a row
};

}  // namespace dovetail::tasking
