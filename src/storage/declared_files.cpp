#include "storage/declared_files.hpp"

#include <exception>
#include <unordered_map>

#include "base/process_mutex.hpp"
#include "storage/open_file.hpp"

namespace dovetail::storage {
namespace {

struct Declared {
  base::ProcessMutex mutex;
  std::unordered_map<std::uint64_t, std::weak_ptr<OpenFile>> files GUARDED_BY(mutex);
  std::size_t sweep_at GUARDED_BY(mutex) = 64;
};

// Never destroyed: files may be used at the very end of the process.
Declared& declared() {
  static auto* const instance = new Declared;
  return *instance;
}

// Files that are gone leave their number: as many as there are others, at most.
void sweep(Declared& all) REQUIRES(all.mutex) {
  if (all.files.size() >= all.sweep_at) {
    std::erase_if(all.files, [](const auto& entry) { return entry.second.expired(); });
    all.sweep_at = 2 * all.files.size() + 64;
  }
}

}  // namespace

constinit std::atomic<bool> declared_files_are_kept{false};
constinit std::atomic<std::uint64_t> declared_files_version{1};

void keep_declared_files() noexcept { declared_files_are_kept.store(true, std::memory_order_relaxed); }

void keep_declared_file(const std::shared_ptr<OpenFile>& file) noexcept {
  try {
    Declared& all = declared();
    const base::LockGuard lock(all.mutex);
    std::weak_ptr<OpenFile>& kept = all.files[file->space()];
    if (kept.owner_before(file) || file.owner_before(kept)) {
      const bool replaces = !kept.expired();
      kept = file;
      if (replaces) {
        declared_files_version.fetch_add(1, std::memory_order_relaxed);
      }
      sweep(all);
    }
    file->note_kept(declared_files_version.load(std::memory_order_relaxed));
  } catch (const std::exception&) {
    return;
  }
}

std::shared_ptr<OpenFile> declared_file(std::uint64_t space) noexcept {
  Declared& all = declared();
  const base::LockGuard lock(all.mutex);
  const auto found = all.files.find(space);
  return found != all.files.end() ? found->second.lock() : nullptr;
}

}  // namespace dovetail::storage
