// Which OpenMP runtime a benchmark was compiled for: GCC brings libgomp, Clang brings libomp.
#pragma once

#include <omp.h>

namespace bench {

#if defined(__clang__)
inline constexpr const char* openmp_runtime = "libomp";
#else
inline constexpr const char* openmp_runtime = "libgomp";
#endif

}  // namespace bench
