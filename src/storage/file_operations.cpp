#include "storage/file_operations.hpp"

namespace dovetail::storage {
namespace {

StagedFileOpener staged_file_opener = nullptr;

}  // namespace

bool register_staged_file_opener(StagedFileOpener opener) noexcept {
  staged_file_opener = opener;
  return true;
}

std::unique_ptr<FileOperations> open_staged(const std::string& path, int flags, const FileOptions& options) {
  return staged_file_opener(path, flags, options);
}

}  // namespace dovetail::storage
