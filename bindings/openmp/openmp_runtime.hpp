// What is asked of the OpenMP runtime of the process, whichever it is: this library is linked with none.
#pragma once

#include <sched.h>

#include <cstdint>

namespace dovetail::omp {

/// Whether the process has `omp_fulfill_event`. Looks anew until it is found: an OpenMP runtime may be loaded late.
bool can_fulfill() noexcept;
/// Fulfils an event. From any thread. Only where `can_fulfill`.
void fulfill(std::uintptr_t event) noexcept;

/// Whether the calling thread is in no parallel region, active or not. False where OpenMP does not tell.
bool outside_of_parallel_regions() noexcept;

/// Adds the processors that OpenMP may bind its threads to. Adds none where it binds no thread.
void add_places(cpu_set_t& processors) noexcept;

}  // namespace dovetail::omp
