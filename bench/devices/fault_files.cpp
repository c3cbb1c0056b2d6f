// Operations on open files. The transfer itself happens at once; the rules decide what of it happens and when the caller
// hears of it.
#include <fcntl.h>
#include <linux/fuse.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <string>

#include "fault_operations.hpp"

namespace dovetail::devices {
namespace {

constexpr unsigned int most_requests_in_kernel = 4096;

Verdict judge(fuse_req_t request, Operation operation, fuse_ino_t number, std::uint64_t offset, std::size_t length) {
  FaultFileSystem& system = file_system_of(request);
  return system.rules.judge(operation, [&] { return system.nodes.path(number); }, offset, length);
}

void answer(fuse_req_t request, const Verdict& verdict, int error) {
  file_system_of(request).replies.give(request, verdict, [request, error] { fuse_reply_err(request, error); });
}

void initialize(void*, fuse_conn_info* connection) {
  // The kernel sends only 12 asynchronous requests at a time unless asked: direct reads at a depth would not be that deep.
  connection->max_background = most_requests_in_kernel;
  connection->congestion_threshold = most_requests_in_kernel;
  connection->max_write = 1U << 20;
  connection->max_readahead = 1U << 20;
  connection->want |= connection->capable & (FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO);
}

/// `fuse_reply_open` does not know the flag for parallel direct writes. Without the flag the kernel would send the writes to one file one
/// after the other.
void reply_open(fuse_req_t request, int descriptor, bool direct) {
  fuse_open_out answer{};
  answer.fh = static_cast<std::uint64_t>(descriptor);
  answer.open_flags = direct ? FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES : 0;
  if (fuse_reply_buf(request, reinterpret_cast<const char*>(&answer), sizeof answer) != 0) {
    close(descriptor);
  }
}

void open_file(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  if (number == control_number) {
    control_open(request, file->flags);
    return;
  }
  FaultFileSystem& system = file_system_of(request);
  const Verdict verdict = judge(request, Operation::open, number, 0, 0);
  if (verdict.error != 0) {
    answer(request, verdict, verdict.error);
    return;
  }
  const bool direct = !system.cached || (file->flags & O_DIRECT) != 0;
  // Alignment is between the caller and the rules; O_APPEND is the kernel's, which sends offsets; a cached file opened
  // for writing is read too, to fill up its pages.
  int flags = file->flags & ~(O_DIRECT | O_APPEND | O_NOFOLLOW | O_CREAT | O_EXCL);
  if (!direct && (flags & O_ACCMODE) == O_WRONLY) {
    flags = (flags & ~O_ACCMODE) | O_RDWR;
  }
  const int descriptor = open(system.nodes.handle_path(number).c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) {
    answer(request, verdict, errno);
    return;
  }
  system.replies.give(request, verdict, [=] { reply_open(request, descriptor, direct); });
}

void read_file(fuse_req_t request, fuse_ino_t number, std::size_t size, off_t offset, fuse_file_info* file) {
  if (number == control_number) {
    control_read(request, size, offset, file);
    return;
  }
  const Verdict verdict = judge(request, Operation::read, number, static_cast<std::uint64_t>(offset), size);
  if (verdict.error != 0) {
    answer(request, verdict, verdict.error);
    return;
  }
  const std::shared_ptr<char[]> buffer(new (std::nothrow) char[verdict.length + 1]);
  const ssize_t done = buffer ? pread(static_cast<int>(file->fh), buffer.get(), verdict.length, offset) : -1;
  if (done < 0) {
    answer(request, verdict, buffer ? errno : ENOMEM);
    return;
  }
  file_system_of(request).replies.give(request, verdict,
                                       [=] { fuse_reply_buf(request, buffer.get(), static_cast<std::size_t>(done)); });
}

void write_file(fuse_req_t request, fuse_ino_t number, const char* data, std::size_t size, off_t offset,
                fuse_file_info* file) {
  if (number == control_number) {
    control_write(request, data, size);
    return;
  }
  const Verdict verdict = judge(request, Operation::write, number, static_cast<std::uint64_t>(offset), size);
  if (verdict.error != 0) {
    answer(request, verdict, verdict.error);
    return;
  }
  const ssize_t done = pwrite(static_cast<int>(file->fh), data, verdict.length, offset);
  if (done < 0) {
    answer(request, verdict, errno);
    return;
  }
  file_system_of(request).replies.give(request, verdict,
                                       [=] { fuse_reply_write(request, static_cast<std::size_t>(done)); });
}

void synchronize_file(fuse_req_t request, fuse_ino_t number, int data_only, fuse_file_info* file) {
  if (number == control_number) {
    fuse_reply_err(request, 0);
    return;
  }
  const Verdict verdict = judge(request, Operation::fsync, number, 0, 0);
  int error = verdict.error;
  if (error == 0) {
    const auto descriptor = static_cast<int>(file->fh);
    error = (data_only != 0 ? fdatasync(descriptor) : fsync(descriptor)) == 0 ? 0 : errno;
  }
  answer(request, verdict, error);
}

void allocate_file(fuse_req_t request, fuse_ino_t number, int mode, off_t offset, off_t length, fuse_file_info* file) {
  if (number == control_number) {
    fuse_reply_err(request, EOPNOTSUPP);
    return;
  }
  const auto asked = static_cast<std::size_t>(length);
  const Verdict verdict = judge(request, Operation::fallocate, number, static_cast<std::uint64_t>(offset), asked);
  int error = verdict.error;
  if (error == 0 && verdict.length < asked) {
    error = ENOSPC;  // an allocation cannot be short: what does not fit whole is refused
  }
  if (error == 0) {
    error = fallocate(static_cast<int>(file->fh), mode, offset, length) == 0 ? 0 : errno;
  }
  answer(request, verdict, error);
}

void close_file(fuse_req_t request, fuse_ino_t number, fuse_file_info*) {
  if (number == control_number) {
    fuse_reply_err(request, 0);
    return;
  }
  const Verdict verdict = judge(request, Operation::close, number, 0, 0);
  answer(request, verdict, verdict.error);
}

void release_file(fuse_req_t request, fuse_ino_t number, fuse_file_info* file) {
  if (number == control_number) {
    control_release(request, file);
    return;
  }
  close(static_cast<int>(file->fh));
  fuse_reply_err(request, 0);
}

}  // namespace

void add_file_operations(fuse_lowlevel_ops& operations) {
  // There is no `create`: the kernel then makes the file and opens it, two operations that exist anyway.
  operations.init = initialize;
  operations.open = open_file;
  operations.read = read_file;
  operations.write = write_file;
  operations.fsync = synchronize_file;
  operations.fallocate = allocate_file;
  operations.flush = close_file;
  operations.release = release_file;
}

}  // namespace dovetail::devices
