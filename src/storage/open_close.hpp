// Opening and closing files.
#pragma once

#include <memory>
#include <string>

#include "dovetail/file.hpp"
#include "storage/open_file.hpp"

namespace dovetail::storage {

/// May suspend. @throws IoError.
std::shared_ptr<OpenFile> open_file(const std::string& path, int flags, const FileOptions& options);
/// Waits for the operations in flight, then closes. May suspend. Returns an errno, or 0. @throws IoError for a staged file
int close_file(OpenFile& file);

}  // namespace dovetail::storage
