// libdovetail-mpi.so, and libdovetail-mpi4.so with the calls that MPI 4 has added: stand before an MPI library, of whatever binary interface,
// in programs that do not know of tasks. Each call is a jump to where its slot leads: to MPI's own function, or, once a runtime has started, to
// the one that pauses tasks. So there is no handle and no signature here, and a program without a runtime pays one jump. They need the C library
// and nothing else. DOVETAIL_MPI_CALLS_OF is 3 or 4 (calls.def), DOVETAIL_MPI_LEAD what the library's own function is called.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "comm/mpi/library_file.hpp"

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

// The names of a call: in C, and in Fortran those of `mpif.h` and of the module `mpi_f08`, with and without descriptors of arrays. What a library
// does not have goes nowhere. gfortran can be told to add no underscore, or two: ALIAS. front/names.def has them all, as SYMBOL and ALIAS.
#if DOVETAIL_MPI_CALLS_OF == 3
// clang-format off
#define NAMES(Name, name) \
  SYMBOL(MPI_##Name) SYMBOL(mpi_##name##_) SYMBOL(mpi_##name##_f08_) SYMBOL(mpi_##name##_f08ts_) \
  ALIAS(mpi_##name, mpi_##name##_) ALIAS(mpi_##name##__, mpi_##name##_)
// clang-format on
#else
#define NAMES(Name, name) SYMBOL(MPI_##Name) SYMBOL(mpi_##name##_f08_large_) SYMBOL(mpi_##name##_f08ts_large_)
#endif

extern "C" {
#define SYMBOL(name)                                          \
  HIDDEN void dovetail_first_##name();                        \
  HIDDEN extern std::atomic<void (*)()> dovetail_slot_##name; \
  constinit std::atomic<void (*)()> dovetail_slot_##name{dovetail_first_##name};
#define ALIAS(other, name)
#include "front/names.def"
#undef SYMBOL
#undef ALIAS
}

#define SYMBOL(name) DEFINE_CALL(name)
#define ALIAS(other, name) asm(".globl " #other "\n\t.set " #other ", " #name "\n");
#include "front/names.def"
#undef SYMBOL
#undef ALIAS

namespace dovetail::interpose::mpi {
namespace {

struct Slot {
  const char* name;
  std::atomic<void (*)()>* target;
  void (*first)();
};

constinit Slot slots[] = {
#define SYMBOL(name) {#name, &dovetail_slot_##name, dovetail_first_##name},
#define ALIAS(other, name)
#include "front/names.def"
#undef SYMBOL
#undef ALIAS
};
constexpr std::size_t slot_count = sizeof slots / sizeof slots[0];

// Of a library with the standard interface of MPI 5, too: a jump needs to know none.
bool is_mpi(std::string_view path) noexcept {
  return comm::mpi::is_library_file(path) || path.substr(path.rfind('/') + 1).starts_with("libmpi_abi.so");
}

// The libraries of the process that have calls, wherever they were loaded: mpi4py loads its own so that no other library sees it.
struct Libraries {
  static constexpr std::size_t most = 8;
  void* handles[most] = {};
  std::size_t count = 0;

  Libraries() noexcept {
    Paths paths;
    dl_iterate_phdr(
        [](dl_phdr_info* information, std::size_t, void* into) {
          if (is_mpi(information->dlpi_name) || comm::mpi::is_fortran_library_file(information->dlpi_name)) {
            static_cast<Paths*>(into)->add(information->dlpi_name);
          }
          return 0;
        },
        &paths);
    for (std::size_t i = 0; i < paths.count; ++i) {
      if (void* const handle = dlopen(paths.paths[i], RTLD_LAZY | RTLD_NOLOAD)) {
        handles[count++] = handle;
      }
    }
  }
  void* find(const char* name) const noexcept {
    void* found = nullptr;
    for (std::size_t i = 0; found == nullptr && i < count; ++i) {
      found = dlsym(handles[i], name);
    }
    return count > 0 ? found : dlsym(RTLD_NEXT, name);
  }

 private:
  // Copied: a library may be unloaded when the walk is over.
  struct Paths {
    char paths[most][4096];
    std::size_t count = 0;
    void add(const char* path) noexcept {
      if (count < most && std::strlen(path) < sizeof paths[0]) {
        std::strcpy(paths[count++], path);
      }
    }
  };
};

void missing() noexcept {
  std::fputs("dovetail: the program calls a function of MPI that the MPI library it has loaded does not have\n",
             stderr);
  std::_Exit(2);
}

}  // namespace
}  // namespace dovetail::interpose::mpi

extern "C" {

/// Leads each call that goes nowhere yet to MPI's own function. Any thread.
HIDDEN void dovetail_mpi_find_all() noexcept {
  using namespace dovetail::interpose::mpi;
  const Libraries libraries;
  for (const Slot& slot : slots) {
    auto* const target = reinterpret_cast<void (*)()>(libraries.find(slot.name));
    void (*before)() = slot.first;
    slot.target->compare_exchange_strong(before, target != nullptr ? target : missing);
  }
}

/// Leads a call elsewhere. For libdovetail, which looks this function up. Returns whether there is such a call. Any thread. Calls that are led in
/// the order of the table are found at once.
SHOWN bool DOVETAIL_MPI_LEAD(const char* name, void (*target)()) noexcept {
  using namespace dovetail::interpose::mpi;
  static constinit std::atomic<std::size_t> next{0};
  const std::size_t begin = next.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < slot_count; ++i) {
    const Slot& slot = slots[(begin + i) % slot_count];
    if (std::strcmp(slot.name, name) == 0) {
      slot.target->store(target, std::memory_order_release);
      next.store(begin + i + 1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}
}
