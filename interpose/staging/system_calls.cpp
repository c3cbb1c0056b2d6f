// Programs that make their system calls without the C library's functions for them.
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <iterator>

#include "descriptors.hpp"
#include "libc.hpp"
#include "opening.hpp"
#include "own_descriptors.hpp"
#include "program_files.hpp"
#include "within.hpp"

using namespace dovetail::interpose::staged;

namespace {

constexpr const char* by_number = "a system call was made without the C library";

// They are about one descriptor, which is their first argument.
constexpr long of_descriptor[] = {SYS_read,      SYS_write,     SYS_pread64, SYS_pwrite64, SYS_readv,
                                  SYS_writev,    SYS_preadv,    SYS_pwritev, SYS_preadv2,  SYS_pwritev2,
                                  SYS_ftruncate, SYS_fallocate, SYS_lseek,   SYS_fsync,    SYS_ioctl,
                                  SYS_vmsplice,  SYS_fdatasync, SYS_fstat,   SYS_close};
// They are about two: the first argument and the second, or the third.
constexpr long of_first_two[] = {SYS_sendfile, SYS_tee};
constexpr long of_first_and_third[] = {SYS_splice, SYS_copy_file_range};
// They have nothing to do with files, or do nothing to them.
constexpr long harmless[] = {SYS_futex,
                             SYS_gettid,
                             SYS_getpid,
                             SYS_getppid,
                             SYS_tgkill,
                             SYS_tkill,
                             SYS_kill,
                             SYS_getrandom,
                             SYS_clock_gettime,
                             SYS_clock_nanosleep,
                             SYS_nanosleep,
                             SYS_gettimeofday,
                             SYS_sched_yield,
                             SYS_sched_getaffinity,
                             SYS_sched_setaffinity,
                             SYS_getcpu,
                             SYS_membarrier,
                             SYS_rseq,
                             SYS_set_robust_list,
                             SYS_get_robust_list,
                             SYS_set_tid_address,
                             SYS_rt_sigaction,
                             SYS_rt_sigprocmask,
                             SYS_rt_sigtimedwait,
                             SYS_rt_sigqueueinfo,
                             SYS_madvise,
                             SYS_mprotect,
                             SYS_munmap,
                             SYS_mremap,
                             SYS_mbind,
                             SYS_set_mempolicy,
                             SYS_get_mempolicy,
                             SYS_move_pages,
                             SYS_mlock,
                             SYS_mlock2,
                             SYS_prctl,
                             SYS_seccomp,
                             SYS_perf_event_open,
                             SYS_getuid,
                             SYS_geteuid,
                             SYS_getgid,
                             SYS_getegid,
                             SYS_getrlimit,
                             SYS_prlimit64,
                             SYS_getrusage,
                             SYS_sysinfo,
                             SYS_uname,
                             SYS_eventfd2,
                             SYS_epoll_create1,
                             SYS_epoll_ctl,
                             SYS_epoll_pwait,
                             SYS_ppoll,
                             SYS_pipe2,
                             SYS_socket,
                             SYS_bpf,
                             SYS_ioprio_get,
                             SYS_ioprio_set,
                             SYS_getxattr,
                             SYS_fgetxattr,
                             SYS_getdents64,
                             SYS_sched_setattr,
                             SYS_sched_getattr,
                             SYS_sched_setscheduler,
                             SYS_sched_getscheduler,
                             SYS_sched_setparam,
                             SYS_sched_getparam,
                             SYS_pidfd_open,
                             SYS_waitid,
                             SYS_wait4,
                             SYS_memfd_create,
                             SYS_inotify_init1};

template <std::size_t size>
bool is_in(const long (&numbers)[size], long number) noexcept {
  return std::find(std::begin(numbers), std::end(numbers), number) != std::end(numbers);
}

void settle_for(long number, const long (&words)[6]) noexcept {
  if (is_in(harmless, number)) {
    return;
  }
  const bool is_of_two = is_in(of_first_two, number);
  const bool is_of_third = is_in(of_first_and_third, number);
  if (is_in(of_descriptor, number) || is_of_two || is_of_third) {
    settle_descriptor(static_cast<int>(words[0]), by_number);
    if (is_of_two || is_of_third) {
      settle_descriptor(static_cast<int>(words[is_of_two ? 1 : 2]), by_number);
    }
  } else if (number == SYS_mmap) {
    settle_descriptor(static_cast<int>(words[4]), by_number);
  } else {
    // It may name a file, or make a child, or be of a later system.
    finish_all(by_number);
  }
}

}  // namespace

// How many words a call has only the system knows. Those that the caller did not give are what lies there, as for the C library's `syscall`.
DOVETAIL_CALL __attribute__((no_sanitize("address"))) long syscall(long number, ...) noexcept {
  va_list rest;
  va_start(rest, number);
  long words[6];
  for (long& word : words) {
    word = va_arg(rest, long);
  }
  va_end(rest);
  if (!no_files() && is_active()) {
    const KeptErrno kept;
    settle_for(number, words);
  }
  if (is_active()) {
    const auto first = static_cast<unsigned>(words[0]);
    if (number == SYS_close) {
      if (is_own(static_cast<int>(first))) {
        return fail(EBADF);
      }
      remove_description(static_cast<int>(first));
    } else if (number == SYS_close_range) {
      return close_range(first, static_cast<unsigned>(words[1]), static_cast<int>(words[2]));
    }
  }
  return libc::syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
