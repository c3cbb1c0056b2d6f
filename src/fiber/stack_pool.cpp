#include "fiber/stack_pool.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/sanitizer.hpp"
#if DOVETAIL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace dovetail::fiber {
namespace {

constexpr std::size_t stacks_in_slab = 8;
// Stacks that began at the same place of a page would share a few sets of the first-level cache, and each switch would miss it. So
// they begin a few lines apart. That is near enough to the end of a page that a pausing task needs no second page.
constexpr std::size_t colours = 8;
constexpr std::size_t colour_bytes = 256;
// Since Linux 6.13 a guard needs no mapping of its own, so that their number has no limit; older kernels say EINVAL.
bool install_guard(std::byte* begin) noexcept {
#ifndef MADV_GUARD_INSTALL
  constexpr int MADV_GUARD_INSTALL = 102;
#endif
  return StackPool::guards_without_mapping && madvise(begin, StackPool::guard_bytes, MADV_GUARD_INSTALL) == 0;
}

}  // namespace

StackPool::StackPool(std::size_t size)
    : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      size_((size + page_ - 1) / page_ * page_),
      stride_(guard_bytes + size_ + page_),  // with room for the colour
      slab_bytes_(stacks_in_slab * stride_) {}

StackPool::~StackPool() {
  for (std::byte* slab : slabs_) {
#if DOVETAIL_ADDRESS_SANITIZER
    // Its marks on the stacks would stick to the next mapping here.
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
  // A huge page would make the first touch of a stack cost two mebibytes.
  madvise(memory, slab_bytes_, MADV_NOHUGEPAGE);
  auto* slab = static_cast<std::byte*>(memory);
  slabs_.push_back(slab);
  free_.reserve(made_ + stacks_in_slab);  // `release` never allocates
  for (std::size_t i = 0; i < stacks_in_slab; ++i) {
    std::byte* guard = slab + i * stride_;
    // A guard with a mapping of its own takes two of the 65530 that Linux allows a process by default. Beyond `most_mapped_guards`, a guard
    // is memory that nothing uses: an overflow goes there first and harms no other stack.
    if (!install_guard(guard) && mapped_guards_ < most_mapped_guards && mprotect(guard, guard_bytes, PROT_NONE) == 0) {
      ++mapped_guards_;
    }
    free_.push_back({guard + guard_bytes, size_ + page_ - made_ % colours * colour_bytes});
    ++made_;
  }
}

Stack StackPool::acquire() {
  const base::LockGuard lock(mutex_);
  if (free_.empty()) {
    make_slab();
  }
  const Stack stack = free_.back();
  free_.pop_back();
  return stack;
}

void StackPool::release(Stack stack) noexcept {
  madvise(stack.lowest, stack.size, MADV_DONTNEED);
  const base::LockGuard lock(mutex_);
  free_.push_back(stack);
}

std::size_t StackPool::made() const {
  const base::LockGuard lock(mutex_);
  return made_;
}

}  // namespace dovetail::fiber
