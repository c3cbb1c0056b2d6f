#include "block_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "dovetail/failure.hpp"

namespace heat {
namespace {

using dovetail::File;
using dovetail::IoError;

// Meters an operation that has ended when the scope does.
class Operation {
 public:
  Operation(Meter& meter, std::uint64_t written) : meter_(meter), written_(written) { meter_.begin_io(); }
  ~Operation() { meter_.end_io(written_); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

 private:
  Meter& meter_;
  std::uint64_t written_;
};

void write_plain(const File& file, std::span<const std::byte> data, std::uint64_t offset) {
  while (!data.empty()) {
    const ssize_t count = ::pwrite(file.descriptor(), data.data(), data.size(), static_cast<off_t>(offset));
    if (count < 0 && errno != EINTR) {
      throw IoError(errno, "pwrite", file.path(), offset, data.size());
    }
    if (count > 0) {
      data = data.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
  }
}

void read_plain(const File& file, std::span<std::byte> data, std::uint64_t offset) {
  while (!data.empty()) {
    const ssize_t count = ::pread(file.descriptor(), data.data(), data.size(), static_cast<off_t>(offset));
    if (count < 0 && errno != EINTR) {
      throw IoError(errno, "pread", file.path(), offset, data.size());
    }
    if (count == 0) {
      return;
    }
    if (count > 0) {
      data = data.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
  }
}

void sync_plain(const File& file) {
  while (::fdatasync(file.descriptor()) != 0) {
    if (errno != EINTR) {
      throw IoError(errno, "fdatasync", file.path(), 0, 0);
    }
  }
}

bool not_supported(int error_number) {
  return error_number == EOPNOTSUPP || error_number == ENOSYS || error_number == EINVAL;
}

}  // namespace

void BlockIo::write(const File& file, std::span<const std::byte> data, std::uint64_t offset) const {
  if (kind_ == IoKind::bound) {
    meter_.begin_io();
    file.ipwrite(data, offset);
    return;
  }
  const Operation operation(meter_, data.size());
  if (kind_ == IoKind::pausing) {
    file.pwrite(data, offset);
  } else {
    write_plain(file, data, offset);
  }
}

void BlockIo::read(const File& file, std::span<std::byte> data, std::uint64_t offset) const {
  if (kind_ == IoKind::bound) {
    meter_.begin_io();
    file.ipread(data, offset);
    return;
  }
  const Operation operation(meter_, 0);
  if (kind_ == IoKind::pausing) {
    file.pread(data, offset);
  } else {
    read_plain(file, data, offset);
  }
}

void BlockIo::sync(const File& file) const {
  if (kind_ == IoKind::bound) {
    meter_.begin_io();
    file.ifdatasync();
    return;
  }
  const Operation operation(meter_, 0);
  if (kind_ == IoKind::pausing) {
    file.fdatasync();
  } else {
    sync_plain(file);
  }
}

void BlockIo::reserve(const File& file, std::uint64_t bytes) const {
  const Operation operation(meter_, 0);
  if (kind_ == IoKind::plain) {
    while (::fallocate(file.descriptor(), 0, 0, static_cast<off_t>(bytes)) != 0) {
      if (not_supported(errno)) {
        return;
      }
      if (errno != EINTR) {
        throw IoError(errno, "fallocate", file.path(), 0, bytes);
      }
    }
    return;
  }
  try {
    file.fallocate(0, bytes);
  } catch (const IoError& error) {
    if (!not_supported(error.code().value())) {
      throw;
    }
  }
}

void BlockIo::ended(std::uint64_t written) const {
  if (kind_ == IoKind::bound) {
    meter_.end_io(written);
  }
}

}  // namespace heat
