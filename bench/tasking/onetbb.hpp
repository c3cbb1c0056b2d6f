// The oneTBB side of every tasking benchmark: exactly as many threads as were asked for, the caller being one of them.
#pragma once

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "harness/harness.hpp"

namespace bench {

class TbbThreads {
 public:
  explicit TbbThreads(const CommandLine& command_line)
      : limit_(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(command_line.workers())),
        arena_(command_line.workers()) {}

  /// Runs `body` in the arena, so that the caller is one of its threads.
  template <class Body>
  void execute(const Body& body) {
    arena_.execute(body);
  }

 private:
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

}  // namespace bench
