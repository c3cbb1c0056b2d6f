// Opening and closing files: both may block. Bound to a task, executors do it.
#pragma once

#include <memory>
#include <string>

#include "dovetail/file.hpp"
#include "storage/open_file.hpp"

namespace dovetail::storage {

/// May suspend. @throws IoError.
std::shared_ptr<OpenFile> open_file(const std::string& path, int flags, const FileOptions& options);
/// Waits for the operations in flight, then closes. May suspend. Returns an errno, or 0.
int close_file(OpenFile& file);

/// Opens and assigns to `opened`, before the current task completes; a failure is that task's. Where there is no worker it has
/// happened when this returns. Does not suspend. Without a task, an error is thrown. @throws IoError, std::bad_alloc.
void bind_open(const std::string& path, int flags, const FileOptions& options, File* opened);
/// Closes as soon as the operations in flight have ended, before the current task completes; a failure is that task's. As
/// `bind_open` otherwise, save that it may block where there is no worker.
void bind_close(const std::shared_ptr<OpenFile>& file);

}  // namespace dovetail::storage
