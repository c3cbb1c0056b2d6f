// Files that are read whole, into memory of any kind.
#pragma once

#include <cstddef>
#include <string>

namespace dovetail::storage {

/// Memory for the bytes of a file. How many there are is known when all have been read.
class GrowingBytes {
 public:
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  /// Returns memory of `bytes` bytes that begins with what the last one held, which is no longer used. Each is larger than the last. What it throws
  /// is thrown by `read_whole`, whose thread or task calls it.
  virtual std::byte* grow(std::size_t bytes) = 0;

 protected:
  GrowingBytes() = default;
  ~GrowingBytes() = default;
};

/// As `dovetail::read_file`, into `bytes`. Returns the number of bytes of the file: the last memory may be larger. May suspend. @throws IoError.
std::size_t read_whole(const std::string& path, GrowingBytes& bytes);

}  // namespace dovetail::storage
