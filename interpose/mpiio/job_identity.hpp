// Which job this process belongs to: processes of one job write a file together, and each knows that of the others without asking them.
#pragma once

#include <cstdint>

namespace dovetail::interpose::mpiio {

/// Never 0 or negative. The same in all processes of a job: from what its starter has told them, or from what the ranks of a file have agreed on. Where neither
/// is known, of this process alone. Any thread.
std::int64_t job_identity();

/// The ranks of a file have agreed on it.
void adopt_job_identity(std::int64_t identity) noexcept;

}  // namespace dovetail::interpose::mpiio
