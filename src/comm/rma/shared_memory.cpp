#include "comm/rma/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/descriptor.hpp"

namespace dovetail::comm::rma {
namespace {

[[noreturn]] void fail(const std::string& what, std::size_t bytes) {
  throw std::system_error(errno, std::generic_category(),
                          what + ": no shared memory of " + std::to_string(bytes) + " bytes");
}

std::byte* map_pages(int descriptor, std::size_t bytes, const std::string& what) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (mapped == MAP_FAILED) {
    fail(what, bytes);
  }
  return static_cast<std::byte*>(mapped);
}

}  // namespace

SharedMemory SharedMemory::create(const std::string& what, std::size_t bytes) {
  base::Descriptor made(memfd_create(what.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // An access beyond the end of a file that was shortened is a SIGBUS: no process may shorten it.
  if (made.get() < 0 || ftruncate(made.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail(what, bytes);
  }
  SharedMemory memory;
  memory.data_ = map_pages(made.get(), bytes, what);
  memory.size_ = bytes;
  memory.descriptor_ = made.release();
  return memory;
}

SharedMemory SharedMemory::map(int descriptor, std::size_t bytes, const std::string& what) {
  SharedMemory memory;
  memory.data_ = map_pages(descriptor, bytes, what);
  memory.size_ = bytes;
  return memory;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
  close_descriptor();
}

void SharedMemory::close_descriptor() noexcept {
  if (const int descriptor = std::exchange(descriptor_, -1); descriptor >= 0) {
    close(descriptor);
  }
}

}  // namespace dovetail::comm::rma
