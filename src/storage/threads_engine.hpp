// The engine that has blocking system calls made by the I/O executors of the runtime. Works everywhere.
#pragma once

#include "storage/engine.hpp"

namespace dovetail::storage {

class ThreadsEngine final : public Engine {
 public:
  explicit ThreadsEngine(detail::RuntimeCore& core) noexcept : core_(core) {}
  bool prepare(const Request& /*request*/, unsigned /*worker*/) noexcept override { return true; }
  void submit(Request& request, int worker) noexcept override;

 private:
  detail::RuntimeCore& core_;
};

}  // namespace dovetail::storage
