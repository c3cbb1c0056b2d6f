// Whether it pays to read ahead of tasks in one file. Where it does not, they are not even noted, since a note costs as much as a small read.
#pragma once

#include <cstdint>

#include "base/byte_range.hpp"
#include "device/request_facts.hpp"

namespace dovetail::prefetching {

/// Not thread-safe. Times are nanoseconds of any one clock.
class FileInterest {
 public:
  explicit FileInterest(const device::RequestFacts& facts) noexcept : facts_(facts) {}

  enum class Wish : std::uint8_t {
    nothing,  ///< The task is left to the system.
    look,     ///< It is noted unless all that it reads is in memory; `was_seen` is to be told.
    note,
  };
  /// A task that reads these bytes is being spawned. `now` is not looked at unless the file rests.
  Wish wants(const base::ByteRange& range, std::uint64_t now) noexcept;
  /// What a task reads was looked at when it was spawned. `is_there`: all of it is in memory, so that the task is not noted.
  void was_seen(bool is_there, std::uint64_t now) noexcept;
  /// Few tasks have read it: too few to judge this file, and they count for the judgement of files that no task has read yet.
  bool is_new() const noexcept;
  /// Whether that task goes on where the tasks before it end, in requests of the system's own that are long enough.
  bool is_in_order() const noexcept { return is_in_order_; }
  /// Whether tasks read the file one after the other. Then the system itself reads ahead of those that are in order.
  bool is_being_read(std::uint64_t now) const noexcept { return now - begun_[0] < short_while; }
  /// A task that writes the file is being spawned. False: it need not be noted, since nothing is read ahead.
  bool wants_writer() noexcept;
  /// Most tasks are left out; one is looked at now and then.
  bool rests() const noexcept { return rests_; }
  /// Until when none is noted; of a file that rests.
  std::uint64_t rests_until() const noexcept { return look_at_; }

  /// What so many tasks that were noted read was looked at together, to be read ahead. `was_there`: all of it was in memory.
  void looked_at(std::uint32_t tasks, bool was_there, std::uint64_t now) noexcept;
  /// A task that was noted begins. `ahead`: nanoseconds since it was looked at; 0: it was not.
  void begins(std::uint64_t ahead, std::uint64_t now) noexcept;

 private:
  void rest(std::uint64_t now) noexcept;

  static constexpr std::uint64_t first_rest = 4'000'000;   // nanoseconds
  static constexpr std::uint64_t short_while = 4'000'000;  // nanoseconds

  device::RequestFacts facts_;
  std::uint64_t last_end_ = ~std::uint64_t{0};  // of what was spawned last
  std::uint32_t in_order_ = 0;                  // tasks in a row that go on where the one before ends
  std::uint32_t seen_ = 0;                      // tasks in a row of which none that was looked at missed anything
  std::uint32_t there_ = 0;                     // tasks in a row that were noted, and found all they read
  std::uint32_t hurried_ = 0;                   // tasks in a row that began before anything could come
  std::uint32_t readers_ = 0;                   // as long as they are few
  std::uint32_t writers_ = 0;                   // as long as nothing reads
  std::uint64_t begun_[2] = {0, 0};             // when the last tasks but one, and the last, began
  bool is_in_order_ = false;
  bool rests_ = false;
  bool rests_as_seen_ = false;       // since what tasks read was in memory when they were spawned
  std::uint64_t rest_ = first_rest;  // the next one
  std::uint64_t look_at_ = 0;        // when a task is looked at in a rest
};

}  // namespace dovetail::prefetching
