// Whether a process waits for a lock: what tests wait for before they let go of it.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <string>

namespace dovetail::test {

/// The kernel says that some process waits for the lock (flock) of this file or folder.
inline bool is_waited_for(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return false;
  }
  const std::string inode = ":" + std::to_string(status.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find("-> FLOCK") != std::string::npos && line.find(inode) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace dovetail::test
