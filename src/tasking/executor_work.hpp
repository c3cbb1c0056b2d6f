// Work for an executor, handed over by a thread that must not do it itself.
#pragma once

#include <functional>
#include <utility>

#include "tasking/service.hpp"

namespace dovetail::tasking {

/// One thread at a time hands it over, and not again before it has begun.
class ExecutorWork : BlockingWork {
 public:
  explicit ExecutorWork(std::function<void()> body) : body_(std::move(body)) {
    run = [](BlockingWork* work) {
      if (is_posting) {
        was_refused = true;  // no thread can be made, so the one that hands it over is asked
      } else {
        static_cast<ExecutorWork*>(work)->body_();
      }
    };
  }
  ExecutorWork(const ExecutorWork&) = delete;
  ExecutorWork& operator=(const ExecutorWork&) = delete;

  /// False: there is no thread that could do it, and nothing is done.
  bool post(detail::RuntimeCore& core) {
    is_posting = true;
    was_refused = false;
    post_blocking(core, this);
    is_posting = false;
    return !was_refused;
  }

 private:
  static inline thread_local constinit bool is_posting = false;
  static inline thread_local constinit bool was_refused = false;
  const std::function<void()> body_;
};

}  // namespace dovetail::tasking
