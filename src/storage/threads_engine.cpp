#include "storage/threads_engine.hpp"

#include <cerrno>
#include <cstddef>

#include "storage/dispatcher.hpp"
#include "storage/system_calls.hpp"

namespace dovetail::storage {
namespace {

void run(tasking::BlockingWork* work) {
  static_assert(std::is_standard_layout_v<Request>);
  auto& request = *reinterpret_cast<Request*>(reinterpret_cast<std::byte*>(work) - offsetof(Request, work));
  // A request that has not begun when its task is cancelled need not begin.
  request.dispatcher->attempt_ended(request, given_up(request) ? -ECANCELED : call_system(request), -1);
}

}  // namespace

void ThreadsEngine::submit(Request& request, int /*worker*/) noexcept {
  request.work.run = run;
  tasking::post_blocking(core_, &request.work);
}

}  // namespace dovetail::storage
