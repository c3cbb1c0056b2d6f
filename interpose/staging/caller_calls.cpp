// vfork, dlopen and dlmopen depend on the function that calls them, so this library cannot call them for the program. Its own code runs first, and then jumps
// to that of the C library.
#include "base/interposed.hpp"
#include "children.hpp"
#include "opening.hpp"

using namespace dovetail::interpose::staged;

// The child of a vfork returns by the frame of its parent, so that nothing may be on the stack when it is made.
extern "C" [[gnu::visibility("hidden"), gnu::used]] void* dovetail_staged_before_vfork() noexcept {
  settle_for_child();
  static constinit dovetail::base::NextFunction<pid_t()> next("vfork");
  return reinterpret_cast<void*>(next.find());
}

// The loader looks from where it is asked, and opens files by calls of its own.
extern "C" [[gnu::visibility("hidden"), gnu::used]] void* dovetail_staged_before_dlopen(const char* path) noexcept {
  if (path != nullptr) {
    settle_path(AT_FDCWD, path, "it is loaded (dlopen)");
  }
  static constinit dovetail::base::NextFunction<void*(const char*, int)> next("dlopen");
  return reinterpret_cast<void*>(next.find());
}

#if defined(__x86_64__)
__asm__(
    ".text\n.globl vfork\n.type vfork, @function\nvfork:\n"
    "  .cfi_startproc\n  endbr64\n  subq $8, %rsp\n  .cfi_adjust_cfa_offset 8\n  call dovetail_staged_before_vfork\n"
    "  addq $8, %rsp\n  .cfi_adjust_cfa_offset -8\n  jmp *%rax\n  .cfi_endproc\n.size vfork, .-vfork\n"
    ".globl dlopen\n.type dlopen, @function\ndlopen:\n"
    "  .cfi_startproc\n  endbr64\n  pushq %rdi\n  .cfi_adjust_cfa_offset 8\n  pushq %rsi\n  .cfi_adjust_cfa_offset 8\n"
    "  subq $8, %rsp\n  .cfi_adjust_cfa_offset 8\n  call dovetail_staged_before_dlopen\n  addq $8, %rsp\n"
    "  .cfi_adjust_cfa_offset -8\n  popq %rsi\n  .cfi_adjust_cfa_offset -8\n  popq %rdi\n  .cfi_adjust_cfa_offset -8\n"
    "  jmp *%rax\n  .cfi_endproc\n.size dlopen, .-dlopen\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.globl vfork\n.type vfork, %function\nvfork:\n"
    "  stp x29, x30, [sp, #-16]!\n  bl dovetail_staged_before_vfork\n  mov x16, x0\n  ldp x29, x30, [sp], #16\n"
    "  br x16\n.size vfork, .-vfork\n"
    ".globl dlopen\n.type dlopen, %function\ndlopen:\n"
    "  stp x29, x30, [sp, #-32]!\n  stp x0, x1, [sp, #16]\n  bl dovetail_staged_before_dlopen\n  mov x16, x0\n"
    "  ldp x0, x1, [sp, #16]\n  ldp x29, x30, [sp], #32\n  br x16\n.size dlopen, .-dlopen\n");
#endif
