#include "prefetch/inside_counts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <new>

#include "base/descriptor.hpp"

namespace dovetail::prefetching {
namespace {

constinit InsideCounts without_memory{};

// Else the kernel ends the program that sizes the memory.
bool may_be_sized() noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= sizeof(InsideCounts);
}

InsideCounts* make() noexcept {
  if (!may_be_sized()) {
    return &without_memory;
  }
  base::Descriptor made(memfd_create("dovetail-inside", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // A process that reads the counts must not find the memory shortened.
  if (made.get() < 0 || ftruncate(made.get(), sizeof(InsideCounts)) != 0 ||
      fcntl(made.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return &without_memory;
  }
  void* const memory = mmap(nullptr, sizeof(InsideCounts), PROT_READ | PROT_WRITE, MAP_SHARED, made.get(), 0);
  if (memory == MAP_FAILED) {
    return &without_memory;
  }
  made.release();
  auto* const counts = new (memory) InsideCounts{};
  counts->magic = InsideCounts::expected_magic;
  return counts;
}

}  // namespace

WayCounts& counts_of(Way way) noexcept {
  static InsideCounts* const counts = make();
  return counts->by_way[static_cast<std::size_t>(way)];
}

}  // namespace dovetail::prefetching
