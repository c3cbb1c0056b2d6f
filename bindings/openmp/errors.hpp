// Errors that no call has a place for.
#pragma once

#include <dovetail_omp.h>

namespace dovetail::omp {

/// Puts the error into `*status` if that is given and has none yet. Else makes `error.message` and calls the handler.
void report(int* status, dovetail_omp_error error) noexcept;

}  // namespace dovetail::omp
