#include "tasking/other_work.hpp"

#include "tasking/context.hpp"
#include "tasking/sleeping.hpp"

namespace dovetail::tasking {

bool has_other_work() noexcept {
  const Worker* const worker = context().worker;
  return worker == nullptr || worker->operations.any || worker->ready.size() > 0 || may_be_work(*worker);
}

}  // namespace dovetail::tasking
