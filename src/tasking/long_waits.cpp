#include "tasking/long_waits.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "tasking/core.hpp"
#include "tasking/label.hpp"
#include "tasking/quiet.hpp"
#include "tasking/task.hpp"
#include "tasking/wait_visitor.hpp"
#include "tasking/waits.hpp"

namespace dovetail::tasking {
namespace {

// A wait is long when so many looks have found it, which are `report_after` apart all together.
constexpr unsigned looks_of_a_long_wait = 4;
// A long wait is reported after a time, after twice that time, and so on.
constexpr unsigned most_doublings = 16;

std::chrono::nanoseconds between_looks(const RuntimeCore& core) noexcept {
  return std::chrono::nanoseconds(core.options.report_after) / looks_of_a_long_wait;
}

// Whether the task does nothing else until the operation ends. One that has bound it may compute meanwhile.
bool waits(const Task* task) noexcept {
  const TaskState state = task->state.load(std::memory_order_acquire);
  return state == TaskState::paused || state == TaskState::returned || state == TaskState::onready;
}

std::uint8_t not_zero(unsigned look) noexcept {
  const auto number = static_cast<std::uint8_t>(look);
  return number == 0 ? std::uint8_t{1} : number;
}

// How many looks before this one have found it in this wait, up to a number that is more than enough: the numbers of looks recur.
unsigned looks_before(Task* task, std::uint8_t look) noexcept {
  constexpr std::uint8_t most = UINT8_MAX / 2;
  const std::uint8_t first = task->first_look.load(std::memory_order_relaxed);
  const auto before = static_cast<std::uint8_t>(look - first);
  if (first == 0) {
    task->first_look.store(look, std::memory_order_relaxed);
    return 0;
  }
  if (before > most) {
    task->first_look.store(not_zero(look - most), std::memory_order_relaxed);
  }
  return before;
}

// Of sources, descriptors and selections: what waits for long, though others may run. The texts are those of the first few.
struct Overdue {
  std::size_t count = 0;
  std::vector<std::string> texts;
};

Overdue find_overdue(RuntimeCore& core) {
  Overdue overdue;
  core.long_wait_looks.number = not_zero(core.long_wait_looks.number + 1U);
  const VisitWait note = [&](const Task* task, const WaitText& what) {
    if (waits(task) && looks_before(const_cast<Task*>(task), core.long_wait_looks.number) >= looks_of_a_long_wait &&
        ++overdue.count <= most_reported) {
      overdue.texts.push_back(describe(task, what()));
    }
  };
  core.sources->for_each_wait(note);
  core.selections.for_each_wait([&](const Task* task, const WaitText& what, bool only_tasks) {
    if (!only_tasks) {
      note(task, what);
    }
  });
  core.reactor.descriptors().for_each_wait(note);
  return overdue;
}

std::string in_seconds(std::chrono::nanoseconds time) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", std::chrono::duration<double>(time).count());
  return text.data();
}

// Where nothing has run for long. Else empty.
std::string describe_all(RuntimeCore& core, base::TimePoint now) {
  if (!somebody_waits(core)) {
    core.stuck.activity();
    return {};
  }
  if (!something_is_under_way(core)) {
    core.reactor.expect(Reactor::Upkeep::stuck, now);  // what was under way may have ended without a worker
  }
  const std::chrono::nanoseconds quiet = now - core.stuck.note_nothing_runs(now);
  if (quiet < core.options.report_after) {
    return {};
  }
  const Waits waits = find_waits(core);
  return waits.waiting_for_others == 0
             ? std::string()
             : "nothing has run for " + in_seconds(quiet) + "; waiting for" + list_of(waits, describe);
}

// Empty: no wait is long.
std::string describe_long_waits(RuntimeCore& core, base::TimePoint now) {
  const LabelsHeld labels;
  const Overdue overdue = find_overdue(core);
  std::string all = describe_all(core, now);
  if (!all.empty() || overdue.count == 0) {
    return all;
  }
  return "for more than " + in_seconds(core.options.report_after) + ", though others ran," +
         list_of(overdue.count, [&](std::size_t i) { return overdue.texts[i]; });
}

}  // namespace

void expect_long_waits(RuntimeCore& core) noexcept {
  if (core.options.report_after.count() > 0) {
    core.reactor.expect(Reactor::Upkeep::long_waits, base::Clock::now() + between_looks(core));
  }
}

base::TimePoint look_for_long_waits(RuntimeCore& core, base::TimePoint now) {
  if (core.foreign.waiting.load(std::memory_order_seq_cst) == 0) {
    return base::TimePoint::max();  // the next thread that waits names a time
  }
  LongWaitLooks& looks = core.long_wait_looks;
  const std::string text = describe_long_waits(core, now);
  if (text.empty()) {
    looks.reports = 0;
    looks.next_report = {};
  } else if (now >= looks.next_report) {
    std::fprintf(stderr, "dovetail: %s\n", text.c_str());
    looks.next_report = now + std::chrono::nanoseconds(core.options.report_after) * (1U << looks.reports);
    looks.reports = std::min(most_doublings, looks.reports + 1);
  }
  return now + between_looks(core);
}

}  // namespace dovetail::tasking
