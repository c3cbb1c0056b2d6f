// Where a program is in the plan of a file.
#pragma once

#include <cstdint>

#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

/// What a read says about the plan.
enum class Followed : std::uint8_t {
  fits,   // or says nothing
  wants,  // and advice for what comes next is due
  over,   // the program has come to the end of the plan, or takes another way; it may begin again
};

/// How many extents further on a program may go at a time, such as when several threads read.
inline constexpr std::uint32_t reach = 64;
/// How many reads more than those that it foretells may leave the plan.
inline constexpr std::int32_t most_strays = 8;

/// Runs of pages that a program which has come to the end of the plan must read again, in their order, before it is believed to go through the file once more. A plan
/// with fewer is over for good.
inline constexpr std::uint32_t runs_of_a_new_pass = 4;

/// Notes that the program reads of the file, if that is left to the system: a plan without extents only says where the program is.
void note_begun(const FilePlan& plan) noexcept;

/// Notes that the program reads these bytes. Any thread and any signal handler may call it, of any process that shares the progress.
Followed follow(const FilePlan& plan, std::uint64_t offset, std::uint64_t bytes) noexcept;

/// Notes, for the report, how long it took the program to read so many bytes: whether they were in memory. Of the first pass alone, as when it was observed.
void count_read(const FilePlan& plan, std::uint64_t bytes, std::uint64_t nanoseconds) noexcept;

/// Whether the plan has nothing more to say, unless the program begins it again: the system reads ahead as it likes then.
bool is_over(const FilePlan& plan) noexcept;

/// Whether the program has come to the end of the plan, and may go through the file once more.
bool may_begin_again(const FilePlan& plan) noexcept;

/// Whether its reads since the end of the plan are those that a new pass begins with, too few yet to be one.
bool perhaps_begins_again(const FilePlan& plan) noexcept;

/// Bytes of the plan that were asked for and that the program has not come to yet.
std::uint64_t ahead(const FilePlan& plan) noexcept;

/// Whether advice is due: less than half of the window lies ahead, with the gaps, and the plan has more.
bool wants_advice(const FilePlan& plan) noexcept;

}  // namespace dovetail::prefetching
