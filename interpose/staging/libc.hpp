// The functions that these here stand in front of.
#pragma once

#include <aio.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/interposed.hpp"

extern "C" {
int __open_2(const char*, int);
int __open64_2(const char*, int);
int __openat_2(int, const char*, int);
int __openat64_2(int, const char*, int);
// Of programs that were compiled before there was fstat in the C library.
int __fxstat64(int, int, struct stat64*);
int __xstat64(int, const char*, struct stat64*);
int __lxstat64(int, const char*, struct stat64*);
int __fxstatat64(int, int, const char*, struct stat64*, int);
int __vdprintf_chk(int, int, const char*, va_list);
}

namespace dovetail::interpose::staged {

// clang-format off
#define DOVETAIL_STAGED_FUNCTIONS(X) \
  X(open64) X(openat64) X(creat64) X(__open_2) X(__openat_2) X(mkstemp64) X(mkostemp64) X(mkstemps64) X(mkostemps64) \
  X(close) X(eventfd) X(epoll_create1) X(inotify_init1) X(dup) X(dup2) X(dup3) X(fcntl64) X(close_range) X(closefrom) \
  X(read) X(pread64) X(readv) X(preadv64) X(preadv64v2) X(write) X(pwrite64) X(writev) X(pwritev64) X(pwritev64v2) X(lseek64) \
  X(fsync) X(fdatasync) X(sync_file_range) X(syncfs) X(ftruncate64) X(truncate64) X(fallocate64) X(posix_fallocate64) \
  X(fstat64) X(stat64) X(lstat64) X(fstatat64) X(statx) X(__fxstat64) X(__xstat64) X(__lxstat64) X(__fxstatat64) \
  X(nftw64) X(ftw64) X(fts64_read) X(fts64_children) \
  X(utimensat) X(futimens) X(utimes) X(lutimes) X(futimes) X(futimesat) X(utime) \
  X(rename) X(renameat) X(renameat2) X(unlink) X(unlinkat) X(remove) X(link) X(linkat) \
  X(mmap64) X(sendfile64) X(copy_file_range) X(splice) X(ioctl) X(syscall) X(vdprintf) X(__vdprintf_chk) \
  X(aio_read64) X(aio_write64) X(aio_fsync64) X(lio_listio64) \
  X(fopen64) X(freopen64) X(fdopen) X(fclose) \
  X(execve) X(execv) X(execvp) X(execvpe) X(fexecve) X(execveat) X(posix_spawn) X(posix_spawnp) X(popen) X(system) X(_exit) \
  X(_Fork) X(clone) X(sendmsg) X(sendmmsg) \
  X(setuid) X(seteuid) X(setreuid) X(setresuid) X(setgid) X(setegid) X(setregid) X(setresgid) X(chroot) X(unshare) X(setns) \
  X(chmod) X(fchmod) X(fchmodat) X(setxattr) X(lsetxattr) X(fsetxattr) \
  X(listxattr) X(llistxattr) X(flistxattr) X(getxattr) X(lgetxattr) X(fgetxattr) X(removexattr) X(lremovexattr) X(fremovexattr) X(lockf64)
// clang-format on

namespace libc {
// The attributes of the declarations are for callers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wignored-attributes"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
// A name cannot be put into parentheses; that a program should not call some of them is for the program to know.
// NOLINTBEGIN(bugprone-macro-parentheses, bugprone-unsafe-functions)
#define DOVETAIL_STAGED_FUNCTION(name) inline constinit base::NextFunction<decltype(::name)> name{#name};
DOVETAIL_STAGED_FUNCTIONS(DOVETAIL_STAGED_FUNCTION)
#undef DOVETAIL_STAGED_FUNCTION
// NOLINTEND(bugprone-macro-parentheses, bugprone-unsafe-functions)
#pragma GCC diagnostic pop
}  // namespace libc

/// All at once and early: later there may be calls from signal handlers, which must not ask the loader.
inline void find_all() noexcept {
#define DOVETAIL_STAGED_FIND(name) libc::name.find();
  DOVETAIL_STAGED_FUNCTIONS(DOVETAIL_STAGED_FIND)
#undef DOVETAIL_STAGED_FIND
}

}  // namespace dovetail::interpose::staged
