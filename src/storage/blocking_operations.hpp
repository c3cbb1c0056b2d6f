// Operations that block a thread, as tasks use them: a task pauses for them, or they are bound to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "storage/open_file.hpp"
#include "storage/operation.hpp"

namespace dovetail::storage {

/// Calls `body`, which may block, on an executor while the current task is paused. Where no task can be paused, on this thread. May
/// suspend. @throws what `body` throws
void call_blocking(const std::function<void()>& body);
/// @name As `perform` and `bind` (perform.hpp)
/// The file is counted in by the caller. These count it out.
/// @{
std::uint64_t perform_by_operations(OpenFile& file, const Operation& operation);
void bind_to_operations(OpenFile& file, const Operation& operation, std::size_t* transferred);
/// @}
/// Binds `body`, which may block, to the current task: it runs on an executor, and the task fails with what it throws. Without a task, and in I/O tasks, it is
/// called at once. The file is counted in by the caller; this counts it out. @throws what `body` throws, without a task
void bind_blocking(OpenFile& file, std::function<void()> body);

}  // namespace dovetail::storage
