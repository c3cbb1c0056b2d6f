#include "dovetail/parallel.hpp"

#include <stdexcept>
#include <string>

#include "tasking/context.hpp"
#include "tasking/core.hpp"

namespace dovetail::detail {

unsigned workers_for(const char* function, bool last_fits) {
  const tasking::ThreadContext& here = tasking::context();
  if (here.task == nullptr) {
    throw std::logic_error(std::string("dovetail::") + function +
                           " was called outside of a task; use Runtime::" + function);
  }
  if (!last_fits) {
    throw std::out_of_range(
        std::string("dovetail::") + function +
        ": the end of the range is no value of the type of its beginning; give both the larger type");
  }
  return here.task->core->options.workers;
}

}  // namespace dovetail::detail
