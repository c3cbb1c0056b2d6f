// libdovetail-mpi.so, and libdovetail-mpi4.so with the calls that MPI 4 has added: stand before an MPI library, of whatever binary interface,
// in programs that do not know of tasks. Each call is a jump to where its slot leads: to MPI's own function, or, once a runtime has started, to
// the one that pauses tasks. So there is no handle and no signature here, and a program without a runtime pays one jump. They need the C library
// and nothing else. DOVETAIL_MPI_CALLS is the list of calls, DOVETAIL_MPI_LEAD what the library's own function is called.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define HIDDEN [[gnu::visibility("hidden")]]
#define SHOWN [[gnu::visibility("default")]]

// The argument registers are kept: the first call of a function finds where it goes, and is then made.
#if defined(__x86_64__)
#define DEFINE_CALL(name)                                                                                       \
  asm(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ", @function\n" #name                           \
      ":\n\t"                                                                                                   \
      "endbr64\n\tjmp *dovetail_slot_" #name                                                                    \
      "(%rip)\n"                                                                                                \
      "dovetail_first_" #name                                                                                   \
      ":\n\t"                                                                                                   \
      "endbr64\n\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n\tsub $8, %rsp\n\t" \
      "call dovetail_mpi_find_all\n\t"                                                                          \
      "add $8, %rsp\n\tpop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\t"                  \
      "jmp *dovetail_slot_" #name                                                                               \
      "(%rip)\n\t"                                                                                              \
      ".size " #name ", .-" #name "\n");
#elif defined(__aarch64__)
#define DEFINE_CALL(name)                                                                                            \
  asm(".text\n\t.p2align 4\n\t.globl " #name "\n\t.type " #name ", %function\n" #name                                \
      ":\n\t"                                                                                                        \
      "hint #34\n\tadrp x16, dovetail_slot_" #name "\n\tldr x16, [x16, #:lo12:dovetail_slot_" #name                  \
      "]\n\tbr x16\n"                                                                                                \
      "dovetail_first_" #name                                                                                        \
      ":\n\t"                                                                                                        \
      "hint #34\n\tstp x29, x30, [sp, #-96]!\n\tmov x29, sp\n\t"                                                     \
      "stp x0, x1, [sp, #16]\n\tstp x2, x3, [sp, #32]\n\tstp x4, x5, [sp, #48]\n\tstp x6, x7, [sp, #64]\n\tstr x8, " \
      "[sp, #80]\n\t"                                                                                                \
      "bl dovetail_mpi_find_all\n\t"                                                                                 \
      "ldp x0, x1, [sp, #16]\n\tldp x2, x3, [sp, #32]\n\tldp x4, x5, [sp, #48]\n\tldp x6, x7, [sp, #64]\n\tldr x8, " \
      "[sp, #80]\n\t"                                                                                                \
      "ldp x29, x30, [sp], #96\n\t"                                                                                  \
      "adrp x16, dovetail_slot_" #name "\n\tldr x16, [x16, #:lo12:dovetail_slot_" #name                              \
      "]\n\tbr x16\n\t"                                                                                              \
      ".size " #name ", .-" #name "\n");
#else
#error "libdovetail-mpi.so has no jumps for this processor"
#endif

extern "C" {
#define CALL(name)                                            \
  HIDDEN void dovetail_first_##name();                        \
  HIDDEN extern std::atomic<void (*)()> dovetail_slot_##name; \
  constinit std::atomic<void (*)()> dovetail_slot_##name{dovetail_first_##name};
#include DOVETAIL_MPI_CALLS
#undef CALL
}

#define CALL(name) DEFINE_CALL(name)
#include DOVETAIL_MPI_CALLS
#undef CALL

namespace {

struct Slot {
  const char* name;
  std::atomic<void (*)()>* target;
  void (*first)();
};

constinit Slot slots[] = {
#define CALL(name) {#name, &dovetail_slot_##name, dovetail_first_##name},
#include DOVETAIL_MPI_CALLS
#undef CALL
};

// The library's file, with or without a version: mpi4py loads `libmpi.so`. Not libmpi_cxx and the like.
bool is_mpi(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  const char* const file = slash != nullptr ? slash + 1 : path;
  for (const char* name : {"libmpi.so", "libmpich.so", "libmpi_cray.so", "libmpi_abi.so"}) {
    if (std::strncmp(file, name, std::strlen(name)) == 0) {
      return true;
    }
  }
  return false;
}

// The library of the process, wherever it was loaded: mpi4py loads its own so that no other library sees it.
void* find_library() noexcept {
  char path[4096] = "";
  dl_iterate_phdr(
      [](dl_phdr_info* information, std::size_t, void* into) {
        if (!is_mpi(information->dlpi_name) || std::strlen(information->dlpi_name) >= sizeof path) {
          return 0;
        }
        std::strcpy(static_cast<char*>(into), information->dlpi_name);
        return 1;
      },
      path);
  return path[0] != '\0' ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

void missing() noexcept {
  std::fputs("dovetail: the program calls a function of MPI that the MPI library it has loaded does not have\n",
             stderr);
  std::_Exit(2);
}

}  // namespace

extern "C" {

/// Leads each call that goes nowhere yet to MPI's own function. Any thread.
HIDDEN void dovetail_mpi_find_all() noexcept {
  void* const library = find_library();
  for (const Slot& slot : slots) {
    void (*target)() = nullptr;
    void* const found = library != nullptr ? dlsym(library, slot.name) : dlsym(RTLD_NEXT, slot.name);
    std::memcpy(&target, &found, sizeof target);
    void (*before)() = slot.first;
    slot.target->compare_exchange_strong(before, target != nullptr ? target : missing);
  }
}

/// Leads a call elsewhere. For libdovetail, which looks this function up. Returns whether there is such a call. Any thread.
SHOWN bool DOVETAIL_MPI_LEAD(const char* name, void (*target)()) noexcept {
  for (const Slot& slot : slots) {
    if (std::strcmp(slot.name, name) == 0) {
      slot.target->store(target, std::memory_order_release);
      return true;
    }
  }
  return false;
}
}
