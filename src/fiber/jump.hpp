// From one stack to another.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include "base/sanitizer.hpp"

namespace dovetail::fiber {

/// What `jump_fcontext` of Boost.Context does. A processor predicts where a function returns to from the calls that it has seen.
/// Boost's switch arrives by a jump and not by a return. After a call of it the processor would have one prediction too many. It
/// would mispredict all returns up to the body of the task, and each takes longer than the switch. So it is jumped to.
#if defined(__x86_64__) && !DOVETAIL_THREAD_SANITIZER && !DOVETAIL_ADDRESS_SANITIZER
inline boost::context::detail::transfer_t jump(boost::context::detail::fcontext_t target, void* data) noexcept {
  // Where the processor keeps a second stack of return addresses for comparison, Boost takes one off for the call.
  static const bool compared = [] {
    unsigned long shadow_stack = 0;
    asm volatile("rdsspq %0" : "+r"(shadow_stack));
    return shadow_stack != 0;
  }();
  if (compared) [[unlikely]] {
    return boost::context::detail::jump_fcontext(target, data);
  }
  boost::context::detail::transfer_t arrived;
  // Below the stack pointer the compiler may keep something of its own (the red zone).
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "jmp *%[jump]\n"
      "1:\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "=&a"(arrived.fctx), "=&d"(arrived.data), "+D"(target), "+S"(data)
      : [jump] "r"(&boost::context::detail::jump_fcontext)
      : "rcx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
  return arrived;
}
#else
inline boost::context::detail::transfer_t jump(boost::context::detail::fcontext_t target, void* data) noexcept {
  return boost::context::detail::jump_fcontext(target, data);
}
#endif

}  // namespace dovetail::fiber
