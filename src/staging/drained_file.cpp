#include "staging/drained_file.hpp"

#include <cstdio>
#include <map>
#include <utility>

#include "staging/background_drain.hpp"
#include "staging/placement.hpp"

namespace dovetail::staging {
namespace {

// More would take turns at the same final file system.
constexpr unsigned most_drains_at_once = 2;

struct OpenFiles {
  base::Mutex mutex;
  std::map<std::string, DrainedFile*> files GUARDED_BY(mutex);  // by folder
  BackgroundDrain drain{most_drains_at_once};

  // Never destroyed: what is on the tier when the process ends is found by the next opening.
  static OpenFiles& of_process() {
    static auto* const files = new OpenFiles;
    return *files;
  }
};

}  // namespace

DrainedFile::DrainedFile(std::string folder, std::unique_ptr<TieredFile> file, std::size_t segment_bytes)
    : folder_(std::move(folder)), file_(std::move(file)), segment_bytes_(segment_bytes) {}

DrainedFile::Opened DrainedFile::open(const std::string& tier, const std::string& path, const TierSettings& settings) {
  FolderName name = folder_of(tier, path);
  if (name.failure) {
    return {nullptr, std::move(name.failure)};
  }
  OpenFiles& all = OpenFiles::of_process();
  const base::LockGuard lock(all.mutex);
  if (const auto found = all.files.find(name.folder); found != all.files.end() && found->second->is_of_this_process()) {
    ++found->second->openings_;
    return {found->second->shared_from_this(), {}};
  }
  TieredFile::Opened opened = TieredFile::open(name.folder, name.final_path, settings);
  if (opened.failure) {
    return {nullptr, std::move(opened.failure)};
  }
  const std::shared_ptr<DrainedFile> file(new DrainedFile(name.folder, std::move(opened.file), settings.segment_bytes));
  all.files.insert_or_assign(std::move(name.folder), file.get());
  file->openings_ = 1;
  return {file, {}};
}

void DrainedFile::wrote() noexcept {
  if (file_->written_through() != 0 && !has_told_.exchange(true)) {
    std::fprintf(stderr, "dovetail: the tier of %s is full: what it has no space for is written into the file itself\n",
                 folder_.c_str());
  }
  if (file_->log_bytes() < segment_bytes_ || is_requested_.exchange(true)) {
    return;
  }
  try {
    const std::shared_ptr<DrainedFile> self = shared_from_this();
    OpenFiles::of_process().drain.request({self, file_.get()}, [self](const FileFailure& failure) {
      if (failure) {
        const base::LockGuard lock(self->mutex_);
        self->failure_ = failure;
      } else {
        self->is_requested_ = false;
      }
    });
  } catch (...) {
    is_requested_ = false;  // without memory: the next write asks again
  }
}

FileFailure DrainedFile::take_failure() {
  const base::LockGuard lock(mutex_);
  FileFailure failure = std::exchange(failure_, {});
  if (failure) {
    is_requested_ = false;
  }
  return failure;
}

FileFailure DrainedFile::leave(bool drained) {
  OpenFiles& all = OpenFiles::of_process();
  const base::LockGuard lock(all.mutex);
  if (--openings_ != 0) {
    return {};
  }
  all.files.erase(folder_);
  // The lock is held, so that nobody opens it meanwhile. There is little left to drain.
  return drained ? file_->finish() : FileFailure{};
}

FileFailure DrainedFile::close() {
  FileFailure failure = file_->drain();
  FileFailure left = leave(!failure);
  return failure ? failure : left;
}

void DrainedFile::abandon() noexcept {
  if (!is_of_this_process()) {
    return;
  }
  const auto print = [](const FileFailure& failure) {
    if (failure) {
      std::fprintf(stderr, "dovetail: %s; what was written is still on the tier\n", failure.text().c_str());
    }
  };
  try {
    const std::shared_ptr<DrainedFile> self = shared_from_this();
    OpenFiles::of_process().drain.request({self, file_.get()}, [self, print](const FileFailure& failure) {
      print(failure);
      print(self->leave(!failure));
    });
  } catch (...) {
    print({.error = ENOMEM, .operation = "drain", .path = folder_});
    leave(false);
  }
}

}  // namespace dovetail::staging
