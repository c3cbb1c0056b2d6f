#include "device/ring_setup.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/kernel_files.hpp"

namespace dovetail::device {

std::string set_up_ring(io_uring& ring) {
  io_uring_params parameters{};
  // No COOP_TASKRUN, DEFER_TASKRUN or SINGLE_ISSUER. With those, completions become visible only when the owner enters the
  // kernel, so an idle worker could not deliver what a computing one has started.
  parameters.flags = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
  parameters.cq_entries = ring_completion_entries;
  if (const int error = -io_uring_queue_init_params(ring_submission_entries, &ring, &parameters); error != 0) {
    return explain_ring_failure(error);
  }
  constexpr unsigned needed = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG;
  if ((parameters.features & needed) != needed) {
    io_uring_queue_exit(&ring);
    return "this kernel's io_uring is too old (5.11 or newer is needed)";
  }
  return {};
}

bool is_filtered() {
  const std::string status = base::whole_file("/proc/self/status");
  return status.find("\nSeccomp:\t2") != std::string::npos;
}

std::string explain_ring_failure(int error) {
  std::string text = "io_uring_setup: " + std::generic_category().message(error);
  const std::string disabled = base::first_line("/proc/sys/kernel/io_uring_disabled");
  switch (error) {
    case EPERM:
    case EACCES:
      if (disabled == "2" || (disabled == "1" && geteuid() != 0)) {
        return text + ": the sysctl kernel.io_uring_disabled is " + disabled +
               " (`sysctl kernel.io_uring_disabled=0` allows it)";
      }
      return text + (is_filtered()
                         ? ": a seccomp filter forbids it, as many containers do (with Docker or Podman: allow"
                           " io_uring_setup, io_uring_enter and io_uring_register in the seccomp profile)"
                         : ": a security module of this system forbids it");
    case ENOSYS:
      return text + (is_filtered()
                         ? ": a seccomp filter hides it, or this kernel has no io_uring (it came with Linux 5.1)"
                         : ": this kernel has no io_uring (it came with Linux 5.1, and can be left out)");
    case ENOMEM: {
      rlimit limit{};
      getrlimit(RLIMIT_MEMLOCK, &limit);
      return text + ": RLIMIT_MEMLOCK is " + std::to_string(limit.rlim_cur / 1024) +
             " KiB (`ulimit -l` raises it), or the memory limit of the control group is reached";
    }
    case EMFILE:
    case ENFILE:
      return text + ": no descriptor is left (RLIMIT_NOFILE, `ulimit -n`)";
    default:
      return text;
  }
}

}  // namespace dovetail::device
