#include "fiber/fiber.hpp"

#include "base/sanitizer.hpp"
#include "fiber/jump.hpp"

#include <cstring>

#if DOVETAIL_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif
#if DOVETAIL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" __cxa_eh_globals* __cxa_get_globals() noexcept;
}  // namespace __cxxabiv1

namespace dovetail::fiber {
namespace {

// The C++ runtime keeps the exceptions being handled per operating-system thread (Itanium C++ ABI, 2.2.2). They belong to
// the fiber: a task may pause in a catch block and go on elsewhere.
struct ExceptionState {
  void* caught;
  unsigned int uncaught;
};

// Where this thread's are: asking the C++ runtime takes longer than the switch itself.
thread_local constinit ExceptionState* known_exception_state = nullptr;

[[gnu::noinline]] ExceptionState& exception_state() noexcept {
  // Compilers would merge what is read before and after a switch, though the thread may be another one.
  asm volatile("" ::: "memory");
  if (known_exception_state == nullptr) [[unlikely]] {
    known_exception_state = reinterpret_cast<ExceptionState*>(__cxxabiv1::__cxa_get_globals());
  }
  return *known_exception_state;
}

}  // namespace

struct Fiber::Transfer {
  Fiber* from;
  Fiber* to;
  void (*arrival)(void*);
  void* argument;
};

Fiber::Fiber() {
#if DOVETAIL_THREAD_SANITIZER
  thread_sanitizer_ = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(Stack stack, Entry entry, void* argument) : stack_(stack), entry_(entry), argument_(argument) {
  context_ = boost::context::detail::make_fcontext(stack.bottom(), stack.size, &Fiber::start);
#if DOVETAIL_THREAD_SANITIZER
  thread_sanitizer_ = __tsan_create_fiber(0);
#endif
#if DOVETAIL_ADDRESS_SANITIZER
  // A fiber never leaves its outermost functions: what they marked on this stack is still marked.
  __asan_unpoison_memory_region(stack.lowest, stack.size);
  known_bottom_ = stack.lowest;
  known_size_ = stack.size;
#endif
}

Fiber::~Fiber() {
#if DOVETAIL_THREAD_SANITIZER
  if (stack_.lowest != nullptr) {
    __tsan_destroy_fiber(thread_sanitizer_);
  }
#endif
}

void Fiber::arrive(boost::context::detail::transfer_t transfer) {
  const Transfer message = *static_cast<Transfer*>(transfer.data);
  message.from->context_ = transfer.fctx;
#if DOVETAIL_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(message.to->fake_stack_, &message.from->known_bottom_, &message.from->known_size_);
#endif
  message.arrival(message.argument);
}

void Fiber::start(boost::context::detail::transfer_t transfer) {
  Fiber* self = static_cast<Transfer*>(transfer.data)->to;
  exception_state() = {nullptr, 0};
  arrive(transfer);
  self->entry_(self->argument_);
  __builtin_trap();  // an entry that returns has no caller to return to
}

#if DOVETAIL_THREAD_SANITIZER
// Instrumented, its exit would be booked on the wrong fiber.
__attribute__((no_sanitize("thread")))
#endif
void Fiber::switch_to(Fiber& target, void (*arrival)(void*), void* argument) {
  Transfer message{this, &target, arrival, argument};
  const ExceptionState kept = exception_state();
#if DOVETAIL_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&fake_stack_, target.known_bottom_, target.known_size_);
#endif
#if DOVETAIL_THREAD_SANITIZER
  __tsan_switch_to_fiber(target.thread_sanitizer_, 0);
#endif
  const auto back = jump(target.context_, &message);
  exception_state() = kept;
  arrive(back);
}

}  // namespace dovetail::fiber
