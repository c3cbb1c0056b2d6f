// What performs attempts. An engine belongs to one service, thus to one runtime.
#pragma once

#include <cstddef>

#include "storage/request.hpp"
#include "tasking/service.hpp"

namespace dovetail::storage {

class Engine {
 public:
  virtual ~Engine() = default;
  /// Whether it can take the request from that compute worker, which asks; it sets up what it needs for that.
  virtual bool prepare(const Request& request, unsigned worker) noexcept = 0;
  /// Starts the planned attempt; its result goes to `Dispatcher::attempt_ended`, from any thread, perhaps before this
  /// returns. Neither blocks nor refuses: what does not fit is kept.
  /// @param worker The calling compute worker, or -1: then only threads may be asked.
  virtual void submit(Request& request, int worker) noexcept = 0;
  /// Hands over to the system what `submit` has gathered on this worker.
  virtual void flush(unsigned /*worker*/) noexcept {}
  /// Asks the system to give up what this worker has begun. Requests that do not have to end are attempted again.
  virtual void cancel(unsigned /*worker*/) noexcept {}
  /// Delivers what has ended. Only compute workers call it.
  virtual unsigned poll(unsigned /*worker*/, tasking::PollScope /*scope*/) noexcept { return 0; }
};

}  // namespace dovetail::storage
