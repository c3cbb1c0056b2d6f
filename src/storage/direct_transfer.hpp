// The adaptor of direct files. It turns one operation into the requests that such a file takes, which are under way side by side.
// Their results become one outcome. Files that are not direct never come here.
#pragma once

#include <cstddef>

#include "storage/operation.hpp"
#include "storage/storage_service.hpp"

namespace dovetail::storage {

/// Whether the operation bypasses the page cache, as a whole or in part.
bool goes_direct(OpenFile& file, const Operation& operation) noexcept;

/// As `perform` and `bind`, of an operation that goes direct, is not empty, and is counted in by the caller.
/// @{
/// Without a service the calling thread blocks. May suspend.
Outcome perform_direct(OpenFile& file, const Operation& operation, const StorageService::Here& here);
/// On a compute worker. Does not suspend. @throws std::bad_alloc, and nothing has started.
void start_bound_direct(OpenFile& file, const Operation& operation, std::size_t* transferred, detail::Task* task,
                        const StorageService::Here& here);
/// @}

}  // namespace dovetail::storage
