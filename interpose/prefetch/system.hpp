// System calls that touch neither errno nor anything else of a thread: for a thread that the C library does not know.
#pragma once

#include <sys/syscall.h>

namespace dovetail::prefetching {

#if defined(__x86_64__)
#define DOVETAIL_PREFETCH_HELPER 1
/// The result, or the negative errno.
inline long bare_call(long number, long first, long second = 0, long third = 0, long fourth = 0) noexcept {
  long result = number;
  register long in_fourth __asm__("r10") = fourth;
  __asm__ volatile("syscall"
                   : "+a"(result)
                   : "D"(first), "S"(second), "d"(third), "r"(in_fourth)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
#define DOVETAIL_PREFETCH_HELPER 1
/// The result, or the negative errno.
inline long bare_call(long number, long first, long second = 0, long third = 0, long fourth = 0) noexcept {
  register long in_number __asm__("x8") = number;
  register long result __asm__("x0") = first;
  register long in_second __asm__("x1") = second;
  register long in_third __asm__("x2") = third;
  register long in_fourth __asm__("x3") = fourth;
  __asm__ volatile("svc 0"
                   : "+r"(result)
                   : "r"(in_number), "r"(in_second), "r"(in_third), "r"(in_fourth)
                   : "memory", "cc");
  return result;
}
#else
#define DOVETAIL_PREFETCH_HELPER 0
inline long bare_call(long, long, long = 0, long = 0, long = 0) noexcept { return -38; }
#endif

}  // namespace dovetail::prefetching
