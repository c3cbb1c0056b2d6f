// What a task of Python runs.
#pragma once

#include "call.hpp"

namespace dovetail::python {

/// The body of a Python task. Destroyed when the task completes, run or not: that is how its completion is noticed.
class Body {
 public:
  explicit Body(CallReference call) noexcept;
  Body(Body&& other) noexcept = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  Body& operator=(Body&&) = delete;
  ~Body() {
    if (call_.get() != nullptr) {
      call_->completed();
    }
  }
  void operator()();

 private:
  void run(Call& call);
  CallReference call_;
};

}  // namespace dovetail::python
