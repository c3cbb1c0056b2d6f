// The functions that these here stand in front of: those of the C library, or of another library that stands behind this one.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>

#include "base/interposed.hpp"

extern "C" {
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
int _IO_getc(FILE*);
}

namespace dovetail::prefetching {

// clang-format off
#define DOVETAIL_PREFETCH_FUNCTIONS(X) \
  X(read) X(pread64) X(readv) X(preadv64) X(preadv64v2) X(lseek64) X(mmap64) X(sendfile64) X(copy_file_range) X(splice) \
  X(open64) X(openat64) X(creat64) X(__open_2) X(__openat_2) X(close) X(dup) X(dup2) X(dup3) X(close_range) X(closefrom) \
  X(fopen64) X(freopen64) X(fclose) X(fread) X(fread_unlocked) X(fgets) X(fgets_unlocked) X(getdelim) X(getline) \
  X(fgetc) X(fgetc_unlocked) X(fseek) X(fseeko64) X(rewind) X(fsetpos64) X(prctl) X(unshare) \
  X(setuid) X(seteuid) X(setreuid) X(setresuid) X(setgid) X(setegid) X(setregid) X(setresgid) X(setgroups)
// clang-format on

namespace libc {
// The attributes of the declarations are for callers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
// A name cannot be put into parentheses; that a program should not call some of them is for the program to know.
// NOLINTBEGIN(bugprone-macro-parentheses, bugprone-unsafe-functions)
#define DOVETAIL_PREFETCH_FUNCTION(name) inline constinit base::NextFunction<decltype(::name)> name{#name};
DOVETAIL_PREFETCH_FUNCTIONS(DOVETAIL_PREFETCH_FUNCTION)
#undef DOVETAIL_PREFETCH_FUNCTION
// NOLINTEND(bugprone-macro-parentheses, bugprone-unsafe-functions)
#pragma GCC diagnostic pop
}  // namespace libc

/// All at once and early: later there may be calls from signal handlers, which must not ask the loader.
inline void find_all() noexcept {
#define DOVETAIL_PREFETCH_FIND(name) libc::name.find();
  DOVETAIL_PREFETCH_FUNCTIONS(DOVETAIL_PREFETCH_FIND)
#undef DOVETAIL_PREFETCH_FIND
}

}  // namespace dovetail::prefetching
