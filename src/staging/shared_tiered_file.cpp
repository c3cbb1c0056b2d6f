#include "staging/shared_tiered_file.hpp"

#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <map>
#include <set>
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

struct TakenTier {
  TakenWriters ranks;
  OpenedFolder own;
  std::string awaited;  // a folder whose process will let it go; empty: both are taken
  FileFailure failure;  // also of a folder whose process will not
};

FileFailure staged_by_other(const std::string& path, const std::string& folder) {
  return {.error = EBUSY, .operation = "stage", .path = path, .why = "another process stages it in " + folder};
}

// While it is done, others in the tier wait: it reads no log. `is_superseded`: the folder of the file has a log that stays there.
TakenTier take_tier(const std::string& tier, const FolderName& name, bool is_superseded, FileCalls& calls) {
  TakenTier taken;
  const TierLock lock = lock_tier(tier);
  taken.failure = lock.failure;
  if (taken.failure) {
    return taken;
  }
  taken.ranks = take_writers(name.folder, false, calls);
  taken.failure = taken.ranks.others.failure;
  const std::vector<std::string>& busy = taken.ranks.others.busy;
  if (!taken.failure && !busy.empty()) {
    taken.failure = staged_by_other(name.final_path, busy.front());
  }
  if (!taken.failure && !taken.ranks.closing.empty()) {
    taken.awaited = taken.ranks.closing.front();
    return taken;
  }
  const std::string folder =
      taken.failure || !is_superseded ? name.folder : next_writer_folder(name.folder, taken.failure);
  if (taken.failure) {
    return taken;
  }
  taken.own = take_to_write(calls, folder);
  // A process that recovers it may end at any instant, also between the call that finds the folder and the one that opens it.
  if (taken.own.failure.error == EBUSY || taken.own.failure.error == ENOENT) {
    const bool is_staged = holder_of(folder) == Holder::stages;
    taken.awaited = is_staged ? std::string() : folder;
    taken.failure = is_staged ? staged_by_other(name.final_path, folder) : FileFailure{};
  }
  return taken;
}

// First what the ranks of a killed job have left: the log of this process lies over it. One that was superseded stays where it is, and the
// file gets another log.
TieredFile::Opened open_tiered(const std::string& tier, FolderName& name, const TierSettings& settings) {
  for (bool is_superseded = false;;) {
    TakenTier taken = take_tier(tier, name, is_superseded, *settings.calls);
    if (!taken.awaited.empty()) {
      const std::string awaited = std::move(taken.awaited);
      taken = {};  // the process that is waited for never waits for this one
      wait_if_closed(awaited);
      continue;
    }
    if (taken.failure) {
      taken.ranks.dead.clear();  // one of them may be newer than what another process has
    }
    WriterRecovery recovery = recover_taken(std::move(taken.ranks), settings);
    if (is_superseded) {  // these are told of
      recovery.orphans.clear();
      recovery.superseded.clear();
    }
    tell_of(recovery, name.final_path);
    FileFailure failure = taken.failure ? std::move(taken.failure) : std::move(recovery.failure);
    if (failure) {
      if (!taken.own.failure) {
        remove_log_folder(*settings.calls, taken.own.folder);  // if it is new
      }
      return {.file = nullptr, .failure = std::move(failure)};
    }
    std::string folder = taken.own.folder.path;
    TieredFile::Opened opened = TieredFile::open(std::move(taken.own), name.final_path, settings);
    if (!opened.is_superseded || is_superseded) {
      name.folder = std::move(folder);
      tell_of(opened.elsewhere, name.final_path);
      return opened;
    }
    tell(text_of_superseded(folder, name.final_path));
    is_superseded = true;
  }
}

}  // namespace

struct SharedTieredFile::OpenFiles {
  base::Mutex mutex;
  base::ConditionVariable opened;
  std::map<Identity, std::weak_ptr<SharedTieredFile>> files GUARDED_BY(lock_of_all());
  std::set<Identity> opening GUARDED_BY(lock_of_all());  // a thread reads its log, or what was left of it
  BackgroundDrain drain{most_drains_at_once};

  // Never destroyed: what is on the tier when the process ends is found by the next opening. The child of a fork begins anew: what its parent has
  // open, and drains, stays the parent's.
  static OpenFiles& of_process() {
    static std::atomic<OpenFiles*> files{new OpenFiles};
    [[maybe_unused]] static const int refused = pthread_atfork(nullptr, nullptr, [] { files = new OpenFiles; });
    return *files;
  }
};

base::Mutex& SharedTieredFile::lock_of_all() noexcept { return OpenFiles::of_process().mutex; }

SharedTieredFile::SharedTieredFile(Identity identity, std::string folder, std::string path,
                                   std::unique_ptr<TieredFile> file, std::size_t segment_bytes)
    : identity_(identity),
      folder_(std::move(folder)),
      path_(std::move(path)),
      file_(std::move(file)),
      segment_bytes_(segment_bytes) {}

SharedTieredFile::~SharedTieredFile() {
  OpenFiles& all = OpenFiles::of_process();
  const base::LockGuard lock(lock_of_all());
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
  base::UniqueLock lock(lock_of_all());
  while (all.opening.contains(identity)) {
    all.opened.wait(lock);
  }
  file = all.files[identity].lock();
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
  all.opening.insert(identity);
  lock.unlock();
  file.reset();
  TieredFile::Opened opened;
  try {
    opened = open_tiered(tier, name, settings);
  } catch (const std::exception&) {
    opened.failure = {.error = ENOMEM, .operation = "stage", .path = name.final_path};
  }
  lock.lock();
  all.opening.erase(identity);
  all.opened.notify_all();
  if (opened.failure) {
    return {nullptr, std::move(opened.failure)};
  }
  file.reset(new SharedTieredFile(identity, std::move(name.folder), std::move(name.final_path), std::move(opened.file),
                                  settings.segment_bytes));
  all.files[identity] = file;
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
  const base::LockGuard lock(lock_of_all());
  if (--openings_ != 0 || !drained) {
    return {};
  }
  // The lock is held, so that no thread opens it meanwhile. There is little left to drain.
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
