#include "storage/open_close.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.hpp"
#include "device/file_system.hpp"
#include "dovetail/failure.hpp"
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

}  // namespace

std::shared_ptr<OpenFile> open_file(const std::string& path, int flags, const FileOptions& options) {
  require_whole_path(path, "open");
  const bool demanded = options.direct == Direct::always || (flags & O_DIRECT) != 0;
  const int plain = (flags | O_CLOEXEC) & ~O_DIRECT;
  // The kernel appends wherever the request says: the unaligned head and tail, which go another way, would change places.
  const bool appends = (flags & O_APPEND) != 0;
  if (demanded && appends) {
    throw IoError(EINVAL, "open with O_APPEND past the page cache (use Direct::never or Direct::automatic)", path, 0,
                  0);
  }
  const Outcome opened = open_descriptor(path.c_str(), plain, options.mode);
  if (opened.error != 0) {
    fail_to_open(opened.error, path);
  }
  base::Descriptor cached(static_cast<int>(opened.bytes));
  struct stat status{};
  if (fstat(cached.get(), &status) != 0) {
    fail_to_open(errno, path);
  }
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
  return error != 0 ? error : file.close_descriptors();
}

}  // namespace dovetail::storage
