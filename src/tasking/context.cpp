#include "tasking/context.hpp"

namespace dovetail::tasking {
namespace {
thread_local constinit ThreadContext thread_context;
}

[[gnu::noinline]] ThreadContext& context() noexcept {
  // Keeps calls from being merged: the function is not pure, the thread may have changed.
  asm volatile("");
  return thread_context;
}

}  // namespace dovetail::tasking
