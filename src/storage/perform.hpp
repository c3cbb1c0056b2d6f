// The operations as the faces of the library use them. Each pauses the task, is bound to it, or is a plain system call,
// depending on where it is called.
#pragma once

#include <cstddef>

#include "storage/open_file.hpp"
#include "storage/operation.hpp"

namespace dovetail::storage {

/// Whether a wait of the caller pauses a task, and operations of it go through the engines.
bool can_pause() noexcept;

/// Performs the operation and returns when it has ended. May suspend.
Outcome perform(OpenFile& file, const Operation& operation);
/// Starts the operation and binds its end to the current task, which fails if it does. In places without engines it is
/// performed at once. Does not suspend. Without a task, an error is thrown. @throws IoError, std::bad_alloc.
void bind(OpenFile& file, const Operation& operation, std::size_t* transferred);

/// Opens `path`; the descriptor is in `bytes`. May suspend.
Outcome open_descriptor(const char* path, int flags, unsigned mode);

/// Pauses the task for a request that does nothing, to measure what a request costs. Outside of a task: nothing.
void nop();

}  // namespace dovetail::storage
