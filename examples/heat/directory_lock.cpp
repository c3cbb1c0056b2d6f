#include "directory_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "options.hpp"

namespace heat {

DirectoryLock::DirectoryLock(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw BadInput(directory + ": cannot be made: " + error.message());
  }
  descriptor_ = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw BadInput(directory + ": cannot be opened: " + std::strerror(errno));
  }
  if (::access(directory.c_str(), W_OK) != 0) {
    const int reason = errno;
    ::close(descriptor_);
    throw BadInput(directory + ": cannot be written: " + std::strerror(reason));
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw BadInput(directory + ": is in use by another run");
  }
}

DirectoryLock::~DirectoryLock() { ::close(descriptor_); }

}  // namespace heat
