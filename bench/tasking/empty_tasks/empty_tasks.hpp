// The problem: run a number of tasks that do nothing but count themselves in a slot of their thread.
#pragma once

#include <string>
#include <utility>

#include "harness/counter.hpp"
#include "harness/harness.hpp"

namespace bench {

inline constexpr std::int64_t default_empty_tasks = 1'000'000;

struct EmptyTasks {
  explicit EmptyTasks(std::int64_t count) : tasks(count) {}

  [[nodiscard]] Problem timed(std::function<void()> run) {
    return {.operations = tasks,
            .prepare = [this] { ran.clear(); },
            .run = std::move(run),
            .check =
                [this] {
                  if (ran.total() == tasks) return std::string{};
                  return std::to_string(ran.total()) + " tasks ran instead of " + std::to_string(tasks);
                }};
  }

  std::int64_t tasks;
  Counter ran;
};

}  // namespace bench
