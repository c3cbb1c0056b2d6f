#include "tasking/long_waits.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <unordered_set>
#include <vector>

#include "tasking/core.hpp"
#include "tasking/label.hpp"
#include "tasking/quiet.hpp"
#include "tasking/task.hpp"
#include "tasking/wait_visitor.hpp"
#include "tasking/waits.hpp"

namespace dovetail::tasking {
namespace {

// A wait is long when so many looks have found it before. They take `report_after` together.
constexpr unsigned looks_of_a_long_wait = 4;
// A long wait is reported after a time, after twice that time, and so on. One that becomes long after a report is told eight times that time
// later at most: the other may rightly last for ever.
constexpr unsigned most_doublings = 16;
constexpr unsigned most_doublings_for_new_ones = 3;
// So that all times below fit. A longer time is for ever.
constexpr std::chrono::milliseconds longest_report_after = std::chrono::hours(24);

std::chrono::nanoseconds report_after(const RuntimeCore& core) noexcept {
  return std::min(core.options.report_after, longest_report_after);
}

// Whether the task does nothing else until the operation ends. One that has bound it may compute meanwhile.
bool does_nothing_else(const Task* task) noexcept {
  const TaskState state = task->state.load(std::memory_order_acquire);
  return state == TaskState::paused || state == TaskState::returned || state == TaskState::onready;
}

enum class Length : std::uint8_t { is_short, has_become_long, is_reported };

Length length_of(Task* task, std::uint8_t look) noexcept {
  const std::uint8_t first = task->first_look.load(std::memory_order_relaxed);
  if (first == LongWaitLooks::reported) {
    return Length::is_reported;
  }
  if (first == LongWaitLooks::not_found) {
    task->first_look.store(look, std::memory_order_relaxed);
    return Length::is_short;
  }
  const unsigned looks_before = (look + LongWaitLooks::most_numbers - first) % LongWaitLooks::most_numbers;
  return looks_before >= looks_of_a_long_wait ? Length::has_become_long : Length::is_short;
}

// Tasks that wait for something of which the runtime knows only what a source, or the kernel, says. Returns whether all sources could be asked.
bool for_each_source_wait(RuntimeCore& core, const VisitWait& visit) {
  return for_each_wait(core, [&](const Task* task, const WaitText& what, Awaited awaited) {
    if (awaited == Awaited::sources && does_nothing_else(task)) {
      visit(task, what);
    }
  });
}

struct Found {
  bool all_asked = false;
  bool any_long = false;
  bool any_new = false;
};

Found look_at_all(RuntimeCore& core) {
  std::uint8_t& number = core.long_wait_looks.number;
  number = static_cast<std::uint8_t>(number % LongWaitLooks::most_numbers + 1);
  Found found;
  found.all_asked = for_each_source_wait(core, [&](const Task* task, const WaitText& /*what*/) {
    const Length length = length_of(const_cast<Task*>(task), number);
    found.any_long = found.any_long || length != Length::is_short;
    found.any_new = found.any_new || length == Length::has_become_long;
  });
  return found;
}

std::string in_seconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", std::chrono::duration<double>(time).count());
  return text.data();
}

// Of the long waits, or of those that have not been reported. One line for each task.
std::string describe_long_ones(RuntimeCore& core, bool only_new) {
  std::vector<std::string> lines;
  std::unordered_set<const Task*> seen;
  for_each_source_wait(core, [&](const Task* task, const WaitText& what) {
    const Length length = length_of(const_cast<Task*>(task), core.long_wait_looks.number);
    if (length != Length::is_short && (!only_new || length == Length::has_become_long) && seen.insert(task).second &&
        seen.size() <= most_reported) {
      lines.push_back(describe(task, what()));
    }
  });
  return "for more than " + in_seconds(report_after(core)) + ", though others ran," +
         list_of(seen.size(), [&](std::size_t i) { return lines[i]; });
}

// Where nothing has run for long. Empty: all wait for time or transfers.
std::string describe_all(RuntimeCore& core, std::chrono::nanoseconds quiet) {
  const Waits waits = find_waits(core);
  return waits.waiting_for_others == 0
             ? std::string()
             : "nothing has run for " + in_seconds(quiet) + "; waiting for" + list_of(waits, describe);
}

void mark_reported(RuntimeCore& core) {
  for_each_source_wait(core, [&](const Task* task, const WaitText& /*what*/) {
    if (length_of(const_cast<Task*>(task), core.long_wait_looks.number) == Length::has_become_long) {
      const_cast<Task*>(task)->first_look.store(LongWaitLooks::reported, std::memory_order_relaxed);
    }
  });
}

// How long nothing has run; zero: something does.
std::chrono::nanoseconds quiet_time(RuntimeCore& core, base::TimePoint now) {
  if (!somebody_waits(core)) {
    core.stuck.activity();
    return std::chrono::nanoseconds(0);
  }
  return now - core.stuck.note_nothing_runs(now);
}

void report(RuntimeCore& core, base::TimePoint now) {
  LongWaitLooks& looks = core.long_wait_looks;
  const std::chrono::nanoseconds after = report_after(core);
  const LabelsHeld labels;
  const Found found = look_at_all(core);
  const std::chrono::nanoseconds quiet = quiet_time(core, now);
  if (!found.any_long && quiet < after) {
    if (found.all_asked) {
      looks = {.number = looks.number};
    }
    return;
  }
  const bool due = now >= looks.next_report;
  if (!due && !(found.any_new && now >= looks.next_new)) {
    return;
  }
  if (quiet >= after && !something_is_under_way(core)) {
    core.reactor.expect(Reactor::Upkeep::stuck, now);  // what was under way may have ended without a worker
  }
  const std::string text = quiet >= after ? describe_all(core, quiet) : describe_long_ones(core, !due);
  if (text.empty()) {
    looks.next_report = now + after;
    return;
  }
  std::fprintf(stderr, "dovetail: %s\n", text.c_str());
  mark_reported(core);
  looks.next_report = now + after * (1U << looks.reports);
  looks.next_new = now + after * (1U << std::min(looks.reports, most_doublings_for_new_ones));
  looks.reports = std::min(most_doublings, looks.reports + 1);
}

}  // namespace

void expect_long_waits(RuntimeCore& core) noexcept {
  if (core.options.report_after.count() > 0) {
    core.reactor.expect(Reactor::Upkeep::long_waits, base::Clock::now() + report_after(core) / looks_of_a_long_wait);
  }
}

base::TimePoint look_for_long_waits(RuntimeCore& core, base::TimePoint now) {
  if (core.foreign.waiting.load(std::memory_order_seq_cst) == 0 &&
      core.foreign.callbacks.load(std::memory_order_seq_cst) == 0) {
    return base::TimePoint::max();  // the next thread that waits calls `expect_long_waits`
  }
  report(core, now);
  return now + report_after(core) / looks_of_a_long_wait;
}

}  // namespace dovetail::tasking
