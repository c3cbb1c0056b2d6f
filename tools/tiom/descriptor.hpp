/// @file
/// A file as the plain variants see it: a descriptor and the system's own calls.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dovetail/failure.hpp"

namespace dovetail::tiom {

/// Owns an open descriptor.
class Descriptor {
 public:
  /// Opens as `open(2)`. @throws IoError.
  Descriptor(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (number_ < 0) {
      throw IoError(errno, "open", path, 0, 0);
    }
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  /// The descriptor.
  int number() const noexcept { return number_; }

 private:
  int number_;
};

/// Reads into, or writes, all of `data` by `pread` or `pwrite`: the thread waits. Short transfers are continued.
/// @throws IoError; a read that meets the end of the file is one too.
inline void transfer_all(int descriptor, std::span<std::byte> data, std::uint64_t offset, bool reading,
                         const std::string& path) {
  std::size_t done = 0;
  while (done < data.size()) {
    const auto position = static_cast<off_t>(offset + done);
    const ssize_t moved = reading ? ::pread(descriptor, data.data() + done, data.size() - done, position)
                                  : ::pwrite(descriptor, data.data() + done, data.size() - done, position);
    if (moved < 0 && errno == EINTR) {
      continue;
    }
    if (moved <= 0) {
      throw IoError(moved < 0 ? errno : ENODATA, reading ? "pread" : "pwrite", path, offset + done, data.size() - done);
    }
    done += static_cast<std::size_t>(moved);
  }
}

}  // namespace dovetail::tiom
