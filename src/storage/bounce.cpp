#include "storage/bounce.hpp"

#include <sys/mman.h>

#include <new>

namespace dovetail::storage {
namespace {

BounceBuffer* make_buffer() noexcept {
  void* memory = mmap(nullptr, BounceBuffer::size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  auto* buffer = new (std::nothrow) BounceBuffer{static_cast<std::byte*>(memory)};
  if (buffer == nullptr) {
    munmap(memory, BounceBuffer::size);
  }
  return buffer;
}

}  // namespace

BouncePool& BouncePool::instance() noexcept {
  static BouncePool* pool = new BouncePool;  // reserves room for all buffers
  return *pool;
}

BouncePool::BouncePool() { free_.reserve(most_buffers); }

BouncePool::Answer BouncePool::acquire(DirectRequest& request) noexcept {
  const base::LockGuard lock(mutex_);
  if (free_.empty() && made_ < most_buffers) {
    if (BounceBuffer* buffer = make_buffer()) {
      ++made_;
      free_.push_back(buffer);
    } else if (made_ == 0) {
      return Answer::none;
    }
  }
  if (free_.empty()) {
    waiting_.push(request);
    return Answer::waiting;
  }
  request.bounce = free_.back();
  free_.pop_back();
  return Answer::given;
}

DirectRequest* BouncePool::release(DirectRequest& request) noexcept {
  const base::LockGuard lock(mutex_);
  BounceBuffer* buffer = request.bounce;
  request.bounce = nullptr;
  if (auto* waiter = static_cast<DirectRequest*>(waiting_.pop())) {
    waiter->bounce = buffer;
    return waiter;
  }
  free_.push_back(buffer);  // has room: see the constructor
  return nullptr;
}

}  // namespace dovetail::storage
