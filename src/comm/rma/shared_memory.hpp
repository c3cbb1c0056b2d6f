// Memory that processes of one node share. It has no name, so nothing of it is left behind, however a process ends.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

namespace dovetail::comm::rma {

/// A mapping of such memory; owns it. Other processes map the same memory by a descriptor that they are given.
class SharedMemory {
 public:
  SharedMemory() noexcept = default;
  /// Zeros. `what` is for errors, and for the lists of the kernel. @throws std::system_error
  static SharedMemory create(const std::string& what, std::size_t bytes);
  /// Maps what another process has made. The descriptor stays the caller's. @throws std::system_error
  static SharedMemory map(int descriptor, std::size_t bytes, const std::string& what);

  SharedMemory(SharedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~SharedMemory();

  std::byte* data() const noexcept { return data_; }  ///< Aligned to a page. Null: there is none.
  std::size_t size() const noexcept { return size_; }
  int descriptor() const noexcept { return descriptor_; }  ///< Of memory that was created here; else -1.
  /// When the others have it: a process may have many of them.
  void close_descriptor() noexcept;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace dovetail::comm::rma
