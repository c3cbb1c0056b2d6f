// Which open file is meant by the space of a region. A task names files by the numbers of their spaces alone; reading ahead for it takes a
// descriptor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace dovetail::storage {

class OpenFile;

extern constinit std::atomic<bool> declared_files_are_kept;
/// Changes when another file is meant by some number than before. A file that has this version (`OpenFile::kept`) is kept already.
extern constinit std::atomic<std::uint64_t> declared_files_version;

/// From now on the files are kept whose number is asked for (`File::space`, `in(file, ...)`). Until then that costs nothing.
void keep_declared_files() noexcept;
inline bool are_declared_files_kept() noexcept { return declared_files_are_kept.load(std::memory_order_relaxed); }
/// The one that is meant by its space from now on. Keeps no share of it. Without memory it is not kept. Any thread.
void keep_declared_file(const std::shared_ptr<OpenFile>& file) noexcept;
/// The file that was kept last under that number; null: none, or it is gone. Any thread.
std::shared_ptr<OpenFile> declared_file(std::uint64_t space) noexcept;

}  // namespace dovetail::storage
