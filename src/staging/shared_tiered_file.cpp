#include "staging/shared_tiered_file.hpp"

#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "staging/background_drain.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"

namespace dovetail::staging {
namespace {

// So much smaller a log is drained where little of the tier is left.
constexpr std::size_t parts_of_segment = 16;

// More would take turns at the same final file system.
constexpr unsigned most_drains_at_once = 2;

void print(const FileFailure& failure, const std::string& path) noexcept {
  if (!failure) {
    return;
  }
  try {
    std::fprintf(
        stderr,
        "dovetail: %s was not closed, and the drain in the background has failed: %s; then open it again, or use "
        "'dovetail staging'\n",
        path.c_str(), failure.text().c_str());
  } catch (const std::exception&) {
    std::fprintf(stderr, "dovetail: the drain of %s has failed (errno %d)\n", path.c_str(), failure.error);
  }
}

void tell(const std::string& sentence) { std::fprintf(stderr, "dovetail: %s\n", sentence.c_str()); }

void tell_of(const WriterRecovery& recovery, const std::string& path) {
  for (const std::string& folder : recovery.recovered) {
    tell(text_of_recovered(folder, path));
  }
  for (const std::string& folder : recovery.orphans) {
    tell(text_of_orphan(folder, path));
  }
  for (const std::string& folder : recovery.superseded) {
    tell(text_of_superseded(folder, path));
  }
}

void tell_of(const std::vector<StagedTier>& elsewhere, const std::string& path) {
  for (const StagedTier& each : elsewhere) {
    tell(text_of_elsewhere(each, path));
  }
}

// First what the ranks of a killed job have left: the log of this process, if it has left one, is newer. One that was superseded stays where it is, and the
// file gets another log.
TieredFile::Opened open_tiered(const std::string& tier, FolderName& name, const TierSettings& settings) {
  const TierLock lock = lock_tier(tier);
  TieredFile::Opened opened;
  opened.failure = lock.failure;
  if (opened.failure) {
    return opened;
  }
  WriterRecovery recovery = recover_ranks(name.folder, settings);
  tell_of(recovery, name.final_path);
  opened.failure = std::move(recovery.failure);
  if (!opened.failure && !recovery.busy.empty()) {
    opened.failure = {.error = EBUSY,
                      .operation = "stage",
                      .path = name.final_path,
                      .why = "another process stages it in " + recovery.busy.front()};
  }
  if (opened.failure) {
    return opened;
  }
  opened = TieredFile::open(name.folder, name.final_path, settings);
  if (opened.is_superseded) {
    tell(text_of_superseded(name.folder, name.final_path));
    FileFailure failure;
    name.folder = next_writer_folder(name.folder, failure);
    opened = failure ? TieredFile::Opened{.file = nullptr, .failure = std::move(failure)}
                     : TieredFile::open(name.folder, name.final_path, settings);
  }
  tell_of(opened.elsewhere, name.final_path);
  return opened;
}

}  // namespace

struct SharedTieredFile::OpenFiles {
  base::Mutex mutex;
  std::map<Identity, std::weak_ptr<SharedTieredFile>> files GUARDED_BY(mutex);
  BackgroundDrain drain{most_drains_at_once};

  // Never destroyed: what is on the tier when the process ends is found by the next opening. The child of a fork begins anew: what its parent has
  // open, and drains, stays the parent's.
  static OpenFiles& of_process() {
    static std::atomic<OpenFiles*> files{new OpenFiles};
    [[maybe_unused]] static const int refused = pthread_atfork(nullptr, nullptr, [] { files = new OpenFiles; });
    return *files;
  }
};

SharedTieredFile::SharedTieredFile(Identity identity, std::string folder, std::string path,
                                   std::unique_ptr<TieredFile> file, std::size_t segment_bytes)
    : identity_(identity),
      folder_(std::move(folder)),
      path_(std::move(path)),
      file_(std::move(file)),
      segment_bytes_(segment_bytes) {}

SharedTieredFile::~SharedTieredFile() {
  OpenFiles& all = OpenFiles::of_process();
  const base::LockGuard lock(all.mutex);
  if (const auto found = all.files.find(identity_); found != all.files.end() && found->second.expired()) {
    all.files.erase(found);
  }
}

SharedTieredFile::Opened SharedTieredFile::open(const std::string& tier, const std::string& path,
                                                const TierSettings& settings) {
  FolderName name = folder_of(tier, path);
  struct stat status{};
  if (!name.failure && ::stat(name.final_path.c_str(), &status) != 0) {
    name.failure = {.error = errno, .operation = "look at", .path = name.final_path};
  }
  if (name.failure) {
    return {nullptr, std::move(name.failure)};
  }
  const Identity identity{status.st_dev, status.st_ino};
  std::shared_ptr<SharedTieredFile> file;  // the last share must not go while the lock is held
  OpenFiles& all = OpenFiles::of_process();
  const base::LockGuard lock(all.mutex);
  std::weak_ptr<SharedTieredFile>& place = all.files[identity];
  file = place.lock();
  if (file != nullptr && !file->is_finished_) {
    if (file_folder(file->folder_) != name.folder) {
      return {
          nullptr,
          {.error = EBUSY, .operation = "stage", .path = path, .why = "this process stages it in " + file->folder_}};
    }
    if (!settings.reads_only) {
      std::vector<StagedTier> elsewhere;
      if (FileFailure failure = file->file_->begin_writing(elsewhere)) {
        return {nullptr, std::move(failure)};
      }
      tell_of(elsewhere, file->path_);
    }
    ++file->openings_;
    return {file, {}};
  }
  TieredFile::Opened opened = open_tiered(tier, name, settings);
  if (opened.failure) {
    return {nullptr, std::move(opened.failure)};
  }
  file.reset(new SharedTieredFile(identity, std::move(name.folder), std::move(name.final_path), std::move(opened.file),
                                  settings.segment_bytes));
  place = file;
  file->openings_ = 1;
  return {file, {}};
}

void SharedTieredFile::wrote() noexcept {
  if (file_->written_through() != 0 && !has_told_.exchange(true)) {
    std::fprintf(stderr,
                 "dovetail: the tier has no space for %s, in %s, or its budget is spent: it is written through; free "
                 "space there, take a larger tier, or raise DOVETAIL_TIER_BUDGET_MB\n",
                 path_.c_str(), folder_.c_str());
  }
  // The log is asked last: it counts its segments, which are many while a drain goes on.
  const std::size_t enough = file_->is_tier_nearly_full() ? segment_bytes_ / parts_of_segment : segment_bytes_;
  if (is_requested_ || file_->log_bytes() < enough || is_requested_.exchange(true)) {
    return;
  }
  try {
    const std::shared_ptr<SharedTieredFile> self = shared_from_this();
    OpenFiles::of_process().drain.request(tiered(), [self](const FileFailure& failure) {
      if (failure) {
        const base::LockGuard lock(self->mutex_);
        self->failure_ = failure;
        return;
      }
      self->is_requested_ = false;
      self->wrote();  // meanwhile, perhaps
    });
  } catch (const std::exception&) {
    is_requested_ = false;  // without memory: the next write asks again
  }
}

FileFailure SharedTieredFile::take_failure() {
  const base::LockGuard lock(mutex_);
  FileFailure failure = std::exchange(failure_, {});
  if (failure) {
    is_requested_ = false;
  }
  return failure;
}

FileFailure SharedTieredFile::leave(bool drained) {
  OpenFiles& all = OpenFiles::of_process();
  const base::LockGuard lock(all.mutex);
  if (--openings_ != 0 || !drained) {
    return {};
  }
  // The lock is held, so that nobody opens it meanwhile. There is little left to drain.
  FileFailure failure = file_->finish();
  is_finished_ = !failure;
  return failure;
}

FileFailure SharedTieredFile::close() {
  FileFailure failure;
  try {
    failure = file_->drain();
  } catch (...) {
    leave(false);
    throw;
  }
  FileFailure left = leave(!failure);
  return failure ? failure : left;
}

void SharedTieredFile::abandon() noexcept {
  if (!is_of_this_process()) {
    return;
  }
  try {
    const std::shared_ptr<SharedTieredFile> self = shared_from_this();
    OpenFiles::of_process().drain.request(tiered(), [self](const FileFailure& failure) {
      print(failure, self->path_);
      try {
        print(self->leave(!failure), self->path_);
      } catch (const std::exception&) {
        print({.error = ENOMEM, .operation = "remove the log"}, self->path_);
      }
    });
  } catch (const std::exception&) {
    print({.error = ENOMEM, .operation = "drain", .path = path_}, path_);
    leave(false);
  }
}

}  // namespace dovetail::staging
