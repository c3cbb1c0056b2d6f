#include "openmp_runtime.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

// Weak, so that the linker takes it from wherever the program has it: a shared library or the program itself.
extern "C" __attribute__((weak)) void omp_fulfill_event(std::uintptr_t event);

namespace dovetail::omp {
namespace {

using Fulfill = void (*)(std::uintptr_t);

template <class Function>
Function find(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

Fulfill resolve() noexcept {
  static std::atomic<Fulfill> found{nullptr};
  Fulfill function = found.load(std::memory_order_relaxed);
  if (function == nullptr) [[unlikely]] {
    // By name only where the linker found none: an OpenMP runtime that was loaded after this library.
    function = &omp_fulfill_event != nullptr ? &omp_fulfill_event : find<Fulfill>("omp_fulfill_event");
    found.store(function, std::memory_order_relaxed);
  }
  return function;
}

}  // namespace

bool can_fulfill() noexcept { return resolve() != nullptr; }

void fulfill(std::uintptr_t event) noexcept { resolve()(event); }

bool outside_of_parallel_regions() noexcept {
  static auto* const level = find<int (*)()>("omp_get_level");
  return level != nullptr && level() == 0;
}

void add_places(cpu_set_t& processors) noexcept {
  auto* const count_of_places = find<int (*)()>("omp_get_num_places");
  auto* const size_of_place = find<int (*)(int)>("omp_get_place_num_procs");
  auto* const processors_of_place = find<void (*)(int, int*)>("omp_get_place_proc_ids");
  if (count_of_places == nullptr || size_of_place == nullptr || processors_of_place == nullptr) {
    return;
  }
  for (int place = 0, count = count_of_places(); place < count; ++place) {
    const int size = size_of_place(place);
    if (size <= 0) {
      continue;
    }
    std::vector<int> numbers(static_cast<std::size_t>(size));
    processors_of_place(place, numbers.data());
    for (const int number : numbers) {
      if (number >= 0 && number < CPU_SETSIZE) {
        CPU_SET(static_cast<std::size_t>(number), &processors);
      }
    }
  }
}

}  // namespace dovetail::omp
