#include "device/engine_probe.hpp"

#include <libaio.h>
#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>

#include "base/kernel_files.hpp"
#include "device/ring_setup.hpp"

namespace dovetail::device {
namespace {

std::string message_of(int error) { return std::generic_category().message(error); }

// A small ring and an unnamed file in memory, for one trial each.
class Trial {
 public:
  Trial() : file_(memfd_create("probe", MFD_CLOEXEC)) {
    made_ = io_uring_queue_init(8, &ring_, 0);
    if (file_ >= 0 && ftruncate(file_, 8192) != 0) {
      close(file_);
      file_ = -1;
    }
  }
  ~Trial() {
    if (made_ == 0) {
      io_uring_queue_exit(&ring_);
    }
    if (file_ >= 0) {
      close(file_);
    }
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  int error() const noexcept { return made_ != 0 ? -made_ : file_ < 0 ? EMFILE : 0; }
  io_uring* ring() noexcept { return &ring_; }
  int file() const noexcept { return file_; }
  /// Submits, and waits for as many results; the one tagged `tag` is returned, or the errno of waiting.
  int run(unsigned count, std::uint64_t tag) noexcept {
    if (const int submitted = io_uring_submit(&ring_); submitted < 0) {
      return submitted;
    }
    int result = -ECANCELED;
    for (unsigned i = 0; i < count; ++i) {
      io_uring_cqe* completion = nullptr;
      // The operations that are tried here end at once; the limit is for kernels with surprises.
      __kernel_timespec limit{.tv_sec = 5, .tv_nsec = 0};
      if (const int waited = io_uring_wait_cqe_timeout(&ring_, &completion, &limit); waited != 0) {
        return waited;
      }
      if (completion->user_data == tag) {
        result = completion->res;
      }
      io_uring_cqe_seen(&ring_, completion);
    }
    return result;
  }

 private:
  io_uring ring_{};
  int made_ = -1;
  int file_;
};

FeatureProbe try_feature(const char* name, const std::function<int(Trial&)>& attempt) {
  FeatureProbe probe{.name = name, .works = false, .why_not = {}};
  Trial trial;
  const int error = trial.error() != 0 ? trial.error() : attempt(trial);
  probe.works = error == 0;
  if (error != 0) {
    probe.why_not = message_of(error);
  }
  return probe;
}

int as_error(int result, int expected) noexcept { return result == expected ? 0 : result < 0 ? -result : EIO; }

alignas(4096) std::array<char, 4096> page;

int fixed_buffers(Trial& trial) {
  iovec buffer{page.data(), page.size()};
  if (const int result = io_uring_register_buffers(trial.ring(), &buffer, 1); result != 0) {
    return -result;
  }
  io_uring_sqe* entry = io_uring_get_sqe(trial.ring());
  io_uring_prep_read_fixed(entry, trial.file(), page.data(), 4096, 0, 0);
  io_uring_sqe_set_data64(entry, 1);
  return as_error(trial.run(1, 1), 4096);
}

int linked_requests(Trial& trial) {
  io_uring_sqe* first = io_uring_get_sqe(trial.ring());
  io_uring_prep_write(first, trial.file(), page.data(), 4096, 0);
  first->flags |= IOSQE_IO_LINK;
  io_uring_sqe_set_data64(first, 1);
  io_uring_sqe* second = io_uring_get_sqe(trial.ring());
  io_uring_prep_fsync(second, trial.file(), IORING_FSYNC_DATASYNC);
  io_uring_sqe_set_data64(second, 2);
  return as_error(trial.run(2, 2), 0);
}

int cancellation(Trial& trial) {
  const int never = eventfd(0, EFD_CLOEXEC);
  if (never < 0) {
    return errno;
  }
  io_uring_sqe* waiting = io_uring_get_sqe(trial.ring());
  io_uring_prep_poll_add(waiting, never, POLLIN);
  io_uring_sqe_set_data64(waiting, 1);
  io_uring_sqe* cancel = io_uring_get_sqe(trial.ring());
  io_uring_prep_cancel64(cancel, 1, 0);
  io_uring_sqe_set_data64(cancel, 2);
  const int result = trial.run(2, 1);
  close(never);
  return as_error(result, -ECANCELED);
}

int announcement(Trial& trial) {
  const int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell < 0) {
    return errno;
  }
  int error = -io_uring_register_eventfd(trial.ring(), bell);
  if (error == 0) {
    io_uring_sqe* entry = io_uring_get_sqe(trial.ring());
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data64(entry, 1);
    error = as_error(trial.run(1, 1), 0);
    eventfd_t rung = 0;
    if (error == 0 && eventfd_read(bell, &rung) != 0) {
      error = errno;
    }
  }
  close(bell);
  return error;
}

FeatureProbe try_setup(const char* name, unsigned flags) {
  io_uring ring{};
  const int error = -io_uring_queue_init(8, &ring, flags);
  if (error == 0) {
    io_uring_queue_exit(&ring);
  }
  return {name, error == 0, error == 0 ? "" : message_of(error)};
}

FeatureProbe operation_codes() {
  static constexpr std::pair<io_uring_op, const char*> needed[] = {
      {IORING_OP_NOP, "nop"},
      {IORING_OP_READ, "read"},
      {IORING_OP_WRITE, "write"},
      {IORING_OP_READV, "readv"},
      {IORING_OP_WRITEV, "writev"},
      {IORING_OP_READ_FIXED, "read_fixed"},
      {IORING_OP_WRITE_FIXED, "write_fixed"},
      {IORING_OP_FSYNC, "fsync"},
      {IORING_OP_FALLOCATE, "fallocate"},
      {IORING_OP_OPENAT, "openat"},
      {IORING_OP_POLL_ADD, "poll_add"},
      {IORING_OP_ASYNC_CANCEL, "async_cancel"},
  };
  FeatureProbe result{.name = "", .works = true, .why_not = {}};
  const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> probe(io_uring_get_probe(), io_uring_free_probe);
  std::string there;
  for (const auto& [code, name] : needed) {
    if (probe != nullptr && io_uring_opcode_supported(probe.get(), code) != 0) {
      there += std::string(there.empty() ? "" : " ") + name;
    } else {
      result.works = false;
      result.why_not += std::string(result.why_not.empty() ? "missing: " : " ") + name;
    }
  }
  if (probe == nullptr) {
    result.why_not = "the kernel does not say which it has (Linux 5.6 does)";
  }
  result.name = "operation codes: " + (there.empty() ? std::string("none") : there);
  return result;
}

}  // namespace

EngineProbe probe_uring() {
  EngineProbe probe{.name = "uring", .works = false, .why_not = {}, .features = {}};
  io_uring ring{};
  probe.why_not = set_up_ring(ring);
  if (!probe.why_not.empty()) {
    return probe;
  }
  io_uring_queue_exit(&ring);
  const int bell = eventfd(0, EFD_CLOEXEC);
  if (bell < 0) {
    probe.why_not = "eventfd: " + message_of(errno) + ": a worker that sleeps in its ring could not be woken";
    return probe;
  }
  close(bell);
  probe.works = true;
  probe.features = {try_feature("fixed buffers", fixed_buffers),
                    try_feature("linked requests (write, then fdatasync)", linked_requests),
                    try_feature("cancelling a request", cancellation),
                    try_feature("announcement of completions by eventfd", announcement),
                    try_setup("kernel thread that submits (SQPOLL)", IORING_SETUP_SQPOLL),
                    operation_codes()};
  return probe;
}

EngineProbe probe_aio() {
  EngineProbe probe{.name = "aio", .works = false, .why_not = {}, .features = {}};
  io_context_t context = nullptr;
  const int error = -io_setup(64, &context);
  if (error == 0) {
    io_destroy(context);
    probe.works = true;
    return probe;
  }
  probe.why_not = "io_setup: " + message_of(error);
  if (error == EAGAIN) {
    probe.why_not += ": fs.aio-nr has reached " + base::first_line("/proc/sys/fs/aio-nr") + " of fs.aio-max-nr " +
                     base::first_line("/proc/sys/fs/aio-max-nr") + " (`sysctl fs.aio-max-nr=1048576` allows more)";
  } else if (error == ENOSYS) {
    probe.why_not += is_filtered() ? ": a seccomp filter hides it, or this kernel was built without CONFIG_AIO"
                                   : ": this kernel was built without CONFIG_AIO";
  } else if (error == EPERM || error == EACCES) {
    probe.why_not += ": a seccomp filter or a security module forbids it";
  } else if (error == ENOMEM) {
    probe.why_not += ": the memory limit is reached";
  }
  return probe;
}

EngineProbe probe_threads() { return {.name = "threads", .works = true, .why_not = {}, .features = {}}; }

std::vector<EngineProbe> probe_engines() { return {probe_uring(), probe_aio(), probe_threads()}; }

}  // namespace dovetail::device
