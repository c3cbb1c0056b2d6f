#include "storage/open_close.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "device/file_system.hpp"
#include "dovetail/failure.hpp"
#include "storage/blocking_operations.hpp"
#include "storage/file_operations.hpp"
#include "storage/perform.hpp"
#include "storage/waiter.hpp"
#include "storage/whole_path.hpp"

namespace dovetail::storage {
namespace {

// The node of a block device lies in memory, what it stands for does not.
bool may_gain_by_direct(int descriptor, const struct stat& status) noexcept {
  if (S_ISBLK(status.st_mode)) {
    return true;
  }
  struct statfs information{};
  if (fstatfs(descriptor, &information) != 0) {
    return false;
  }
  return device::may_gain_by_direct(static_cast<unsigned long>(information.f_type));
}

struct OpenedDescriptor {
  base::Descriptor descriptor;
  struct stat status{};
};

OpenedDescriptor opened(const std::string& path, int flags, unsigned mode) {
  const Outcome outcome = open_descriptor(path.c_str(), flags, mode);
  if (outcome.error != 0) {
    fail_to_open(outcome.error, path);
  }
  OpenedDescriptor result{.descriptor = base::Descriptor(static_cast<int>(outcome.bytes))};
  if (fstat(result.descriptor.get(), &result.status) != 0) {
    fail_to_open(errno, path);
  }
  return result;
}

std::shared_ptr<OpenFile> open_staged_file(const std::string& path, int flags, const FileOptions& options) {
  if (options.direct == Direct::always || (flags & O_DIRECT) != 0) {
    throw IoError(EINVAL, "stage, past the page cache (use Direct::never),", path, 0, 0);
  }
  // Emptied by the log: what is in it from an earlier run comes before.
  const int plain = (flags | O_CLOEXEC) & ~O_TRUNC;
  OpenedDescriptor final_file = opened(path, plain, options.mode);
  if (!S_ISREG(final_file.status.st_mode)) {
    throw IoError(EINVAL, "stage what is no regular file,", path, 0, 0);
  }
  std::unique_ptr<FileOperations> operations;
  call_blocking([&] { operations = open_staged(path, flags, options); });
  std::shared_ptr<OpenFile> file =
      OpenFile::make(path, final_file.descriptor.release(), -1, plain, false, options.urgency, final_file.status);
  file->perform_by(std::move(operations));
  return file;
}

void close_staged_file(OpenFile& file) {
  try {
    call_blocking([&file] { file.operations()->close(); });
  } catch (...) {
    file.close_descriptors();  // nothing was written to it by way of them
    throw;
  }
}

}  // namespace

std::shared_ptr<OpenFile> open_file(const std::string& path, int flags, const FileOptions& options) {
  require_whole_path(path, "open");
  if (options.staged) {
    return open_staged_file(path, flags, options);
  }
  const bool demanded = options.direct == Direct::always || (flags & O_DIRECT) != 0;
  const int plain = (flags | O_CLOEXEC) & ~O_DIRECT;
  // The kernel appends wherever the request says: the unaligned head and tail, which go another way, would change places.
  const bool appends = (flags & O_APPEND) != 0;
  if (demanded && appends) {
    throw IoError(EINVAL, "open with O_APPEND past the page cache (use Direct::never or Direct::automatic)", path, 0,
                  0);
  }
  auto [cached, status] = opened(path, plain, options.mode);
  const bool adaptive =
      !demanded && !appends && options.direct == Direct::adaptive && may_gain_by_direct(cached.get(), status);
  // To open a FIFO twice would give it another reader or writer.
  const bool stream = is_stream(cached.get(), status);
  if (demanded && stream) {
    throw IoError(EINVAL, "open past the page cache, which a pipe or terminal does not have (use Direct::never),", path,
                  0, 0);
  }
  const bool wanted = !stream && (demanded || (options.direct == Direct::automatic && !appends) || adaptive);
  int direct = -1;
  if (wanted) {
    // By way of the first descriptor, so that both surely lead to the same file and nothing is created or cut twice.
    const int again = (plain & ~creation_flags) | O_DIRECT;
    direct = ::open(link_to(cached.get()).c_str(), again);
    if (direct < 0 && (errno == ENOENT || errno == ELOOP)) {
      direct = ::open(path.c_str(), again);  // without /proc
    }
    if (direct < 0 && demanded) {
      fail_to_open(errno, path);
    }
  }
  return OpenFile::make(path, cached.release(), direct, flags, adaptive, options.urgency, status);
}

int close_file(OpenFile& file) {
  if (file.closed()) {
    return EBADF;
  }
  Waiter drained(can_pause());
  const int error = file.begin_close(drained);
  if (error != 0) {
    drained.notify();  // a pause that was prepared has to come
  }
  drained.wait(&file);
  if (error == 0 && file.operations() != nullptr) {
    close_staged_file(file);
  }
  return error != 0 ? error : file.close_descriptors();
}

}  // namespace dovetail::storage
