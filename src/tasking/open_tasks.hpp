// I/O tasks of which no gate says how many may run at once. They have few places on executors, and more only if that cannot harm a device.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "dovetail/options.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

/// Whether it is one of them.
bool is_open(const Task* task) noexcept;
/// Whether a paused task keeps its place: it waits for its time, and so for no other task. Any thread.
bool keeps_its_place(const Task* task) noexcept;

/// What a thread of this process does now, as the kernel says. In the order of what is to be spared.
enum class Activity : std::uint8_t {
  waits,        ///< For another thread, or nothing is known.
  computes,     ///< Or could, if a core were free; it may be spinning until another thread does something.
  uses_a_file,  ///< Is in a call that waits for a file, and for no other thread.
};
/// Costs some ten microseconds.
Activity activity_of(pid_t thread);

/// With how many places open tasks begin, if the program does not say how many executors it wants: twice the workers are twice the writers
/// that it would have without I/O tasks, and four are one that fills its buffers for each one that uses the device.
unsigned places_to_begin_with(const Options& options) noexcept;

/// The places of open tasks, without the tasks: those that run or are about to have one each.
///
/// Tasks that wait for each other (a barrier, a message, a queue) need as many places as there are tasks. So while tasks wait for a place, one
/// looks every 20 ms. One more place is made if none of those that have one has ended since the last look and all of them wait; if one computes,
/// after a second without an end, since it may spin; if one uses a file, after ten seconds, since it may do so until another task does
/// something. Places that were added are gone when one is seen to use a file, or none waits. Not thread-safe.
class OpenPlaces {
 public:
  OpenPlaces(std::size_t first, std::size_t most) noexcept : first_(first), most_(most), places_(first) {}

  /// Takes a place, if there is one.
  bool take() noexcept;
  /// A task that comes back from a pause takes one, whether there is one or not.
  void take_again() noexcept { ++taken_; }
  void give_back() noexcept { --taken_; }
  /// A task is over. Its place is given back separately.
  void ended() noexcept { ++ended_; }
  void nobody_waits() noexcept { places_ = first_; }

  /// Whether a look may change anything; only then it has to be found out what the tasks do.
  bool worth_looking(bool all_have_begun) noexcept;
  /// Follows `worth_looking`. Returns true if there is one more place; it is taken.
  bool look(Activity busiest) noexcept;
  bool may_grow() const noexcept { return places_ < most_; }
  /// There is nothing to look for.
  bool is_fixed() const noexcept { return first_ == most_; }

 private:
  const std::size_t first_;
  const std::size_t most_;
  std::size_t places_;
  std::size_t taken_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t ended_seen_ = 0;
  unsigned quiet_looks_ = 0;  ///< In a row, at which none had ended since the one before.
};

}  // namespace dovetail::tasking
