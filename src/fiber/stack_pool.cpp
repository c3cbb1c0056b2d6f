#include "fiber/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/sanitizer.hpp"
#ifdef DOVETAIL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace dovetail::fiber {
namespace {

constexpr std::size_t stacks_in_slab = 16;
// Stacks that all began at the same place of a page would share a few places of the first cache, and each switch would miss it. They
// begin a few lines apart, but near enough to the end of a page that a task which pauses needs no second one for that.
constexpr std::size_t colours = 8;
constexpr std::size_t colour_bytes = 256;
// Idle stacks beyond this many give their memory back; those kept are warm for the next pause.
constexpr std::size_t warm_stacks = 256;

bool protect_guard(std::byte* page, std::size_t length) noexcept {
#ifndef MADV_GUARD_INSTALL
  constexpr int MADV_GUARD_INSTALL = 102;
#endif
  // Since Linux 6.13 a guard needs no mapping of its own, so that their number has no limit; older kernels say EINVAL.
  return madvise(page, length, MADV_GUARD_INSTALL) == 0 || mprotect(page, length, PROT_NONE) == 0;
}

}  // namespace

StackPool::StackPool(std::size_t size)
    : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), size_((size + page_ - 1) / page_ * page_) {
  stride_ = size_ + 2 * page_;  // a guard below, and room for the colour
  slab_bytes_ = stacks_in_slab * stride_;
}

StackPool::~StackPool() {
  for (std::byte* slab : slabs_) {
#ifdef DOVETAIL_ADDRESS_SANITIZER
    // What it marked on the stacks would stick to whatever is mapped here next.
    __asan_unpoison_memory_region(slab, slab_bytes_);
#endif
    munmap(slab, slab_bytes_);
  }
}

void StackPool::make_slab() {
  void* memory = mmap(nullptr, slab_bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(
        errno, std::system_category(),
        "no memory for the stacks of more paused tasks (raise vm.max_map_count or the address-space "
        "limit, or pause fewer tasks at once)");
  }
  auto* slab = static_cast<std::byte*>(memory);
  slabs_.push_back(slab);
  for (std::size_t i = 0; i < stacks_in_slab; ++i) {
    std::byte* guard = slab + i * stride_;
    if (!protect_guard(guard, page_)) {
      const int error = errno;
      if (i == 0) {
        slabs_.pop_back();
        munmap(slab, slab_bytes_);
        throw std::system_error(error, std::system_category(),
                                "no guard page for the stacks of more paused tasks (raise vm.max_map_count)");
      }
      return;
    }
    free_.push_back({guard + page_, size_ + page_ - made_ % colours * colour_bytes});
    ++made_;
  }
}

Stack StackPool::acquire() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    make_slab();
  }
  const Stack stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::release(Stack stack) noexcept {
  std::lock_guard lock(mutex_);
  if (free_.size() >= warm_stacks) {
    madvise(stack.lowest, stack.size, MADV_DONTNEED);
  }
  free_.push_back(stack);  // never grows beyond what acquire has once held
}

std::size_t StackPool::made() const {
  std::lock_guard lock(mutex_);
  return made_;
}

bool StackPool::in_guard(const void* address) const {
  const auto* byte = static_cast<const std::byte*>(address);
  std::lock_guard lock(mutex_);
  for (const std::byte* slab : slabs_) {
    if (byte >= slab && byte < slab + slab_bytes_) {
      return static_cast<std::size_t>(byte - slab) % stride_ < page_;
    }
  }
  return false;
}

}  // namespace dovetail::fiber
