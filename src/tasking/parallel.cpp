#include "dovetail/parallel.hpp"

#include <stdexcept>
#include <string>

#include "tasking/context.hpp"
#include "tasking/core.hpp"

namespace dovetail::detail {

unsigned workers_here() noexcept {
  const tasking::ThreadContext& here = tasking::context();
  return here.task != nullptr ? here.task->core->options.workers : 0;
}

void refuse_outside_of_task(const char* function) {
  throw std::logic_error(std::string("dovetail::") + function +
                         " was called outside of a task; use Runtime::" + function);
}

}  // namespace dovetail::detail
