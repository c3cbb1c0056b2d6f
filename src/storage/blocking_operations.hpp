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
/// As `perform` (perform.hpp), of a file that is counted in.
std::uint64_t perform_by_operations(OpenFile& file, const Operation& operation);
/// As `bind`.
void bind_to_operations(OpenFile& file, FileUse use, const Operation& operation, std::size_t* transferred);
/// Binds `body`, which may block, to the current task: it runs on an executor, and the task fails with what it throws. Without a task, and in I/O tasks, it is
/// called at once. The file is in use until `body` has ended. @throws what `body` throws, without a task; std::bad_alloc
void bind_blocking(FileUse use, std::function<void()> body);

}  // namespace dovetail::storage
