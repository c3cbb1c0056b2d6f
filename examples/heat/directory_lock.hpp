/// @file
/// One run at a time writes a directory.
#pragma once

#include <string>

namespace heat {

/// Holds a directory against a second run for as long as the process lives, however it ends.
class DirectoryLock {
 public:
  /// Makes the directory if it is missing. @throws BadInput if it cannot be written, or is in use.
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace heat
