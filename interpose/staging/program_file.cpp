#include "program_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <exception>
#include <mutex>
#include <system_error>
#include <utility>

#include "draining.hpp"
#include "libc.hpp"
#include "listener.hpp"
#include "sole_opener.hpp"
#include "staging/file_calls.hpp"
#include "staging/final_mark.hpp"
#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"
#include "staging/writer_folders.hpp"
#include "staging_pauses.hpp"
#include "tell.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

using dovetail::staging::FileFailure;
using dovetail::staging::TieredFile;

constexpr std::uint64_t drained_bytes = std::uint64_t{64} << 20;

template <class Call>
FileFailure guarded(const Call& call) noexcept {
  const Within within;
  try {
    return call();
  } catch (const std::exception&) {
    return {.error = ENOMEM, .operation = "stage"};
  }
}

// By the descriptor of the program: the end of another one would end its locks. Empty: there is none.
std::string tier_elsewhere(int descriptor, const std::string& path, const std::string& tier) {
  const std::vector<dovetail::staging::StagedTier> tiers = dovetail::staging::staged_elsewhere(
      {.calls = dovetail::staging::FileCalls::system(), .descriptor = descriptor, .path = path}, tier);
  return tiers.empty() ? std::string() : dovetail::staging::text_of(tiers.front().tier);
}

// As the kernel takes it for the times of files.
timespec file_time() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return now;
}

bool has_size_limit() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

ProgramFile::Use ProgramFile::use() noexcept {
  Use result;
  if (state_ != State::plain) {
    result.held_ = HeldUse(use_);
    result.file_ = state_ == State::staged ? this : nullptr;
  }
  return result;
}

ProgramFile::Use ProgramFile::use_to_write(int descriptor, std::uint64_t end) noexcept {
  Use result = use();
  struct stat64 status{};
  const bool is_large = end >= rule_.from_bytes || (libc::fstat64(descriptor, &status) == 0 &&
                                                    static_cast<std::uint64_t>(status.st_size) >= rule_.from_bytes);
  if (state_ != State::fresh || !is_large) {
    return result;
  }
  result = {};
  stage(descriptor);
  return use();
}

void ProgramFile::stage(int descriptor) noexcept {
  const Within within;
  const KeptErrno kept;
  const base::LockGuard lock(use_);
  // While a child is made, or the process ends, it is written through, and staged later.
  if (state_ != State::fresh || staging_pauses != 0 || staging_is_over) {
    return;
  }
  // Until it is known, others take it for one that may become staged, and wait.
  try {
    try_to_stage(descriptor);
  } catch (const std::exception&) {
    tell("there is no memory to stage a file");
  }
  state_ = state_ == State::fresh ? State::plain : state_.load();
}

void ProgramFile::try_to_stage(int descriptor) {
  if (has_size_limit()) {
    return;
  }
  const auto tell_not_heard = [this] {
    tell(path_ +
         " is written through, since other processes could not ask for it: there is no inotify instance or watch "
         "left for this user (fs.inotify.max_user_instances), or no thread");
  };
  const dovetail::staging::TierLock tier = dovetail::staging::lock_tier(rule_.tier);
  FileFailure failure = tier.failure;
  if (!failure) {
    // Others look for its log after they have opened it, and with the lock held. So one of the two is seen.
    try {
      if (!is_sole_opener(descriptor, listening_thread())) {
        return;
      }
    } catch (const std::system_error&) {
      tell_not_heard();
      return;
    }
    // A program that does not have this library, or one that has renamed a folder above, may have given the name to another file.
    struct stat64 status{};
    if (libc::lstat64(path_.c_str(), &status) != 0 || identity_of(status) != identity_) {
      return;
    }
    // By another name others would find no log.
    if (status.st_nlink != 1) {
      return;
    }
    // To stage it here would make what is staged there count no more.
    if (const std::string elsewhere = tier_elsewhere(descriptor, path_, rule_.tier); !elsewhere.empty()) {
      tell(path_ + " is written through, since some of its bytes may be in " + elsewhere);
      return;
    }
    dovetail::staging::FolderName name = dovetail::staging::folder_of(rule_.tier, path_);
    failure = std::move(name.failure);
    folder_ = std::move(name.folder);
    // What was left alone when the file was opened stays: it was superseded, or is of an earlier file of that name.
    if (!failure && !dovetail::staging::writer_folders(folder_, failure).empty() && !failure) {
      folder_ = dovetail::staging::next_writer_folder(folder_, failure);
    }
  }
  if (!failure) {
    TieredFile::Opened opened = TieredFile::open(folder_, path_, tier_settings());
    failure = std::move(opened.failure);
    tier_ = std::move(opened.file);
  }
  if (failure) {
    tell(path_ + " is written through, since it cannot be staged: " + failure.text());
    return;
  }
  const bool is_heard = listen(folder_, [file = weak_from_this()] {
    if (const std::shared_ptr<ProgramFile> found = file.lock()) {
      found->give_up("another process has opened it");
    }
  });
  if (!is_heard) {
    finish();
    tier_ = nullptr;  // the end of its descriptor would end locks that the program takes later
    tell_not_heard();
    return;
  }
  state_ = State::staged;
}

ssize_t ProgramFile::Use::read(std::uint64_t offset, std::span<std::byte> target) const noexcept {
  std::size_t bytes = 0;
  const FileFailure failure = guarded([&] {
    TieredFile::Read got = tier().read(offset, target);
    bytes = got.bytes;
    return std::move(got.failure);
  });
  return failure && bytes == 0 ? -failure.error : static_cast<ssize_t>(bytes);
}

ssize_t ProgramFile::Use::write(std::uint64_t offset, std::span<const std::byte> data) const noexcept {
  is_held();
  if (guarded([&] { return tier().write(offset, data); })) {
    if (const int error = file_->failed_write(offset, data)) {
      return -error;
    }
  }
  file_->wrote();
  return static_cast<ssize_t>(data.size());
}

ssize_t ProgramFile::Use::append(std::span<const std::byte> data, std::uint64_t& offset) const noexcept {
  const base::LockGuard lock(file_->end_of_file_);
  offset = size();
  return write(offset, data);
}

// What the tier cannot take goes past it.
int ProgramFile::failed_write(std::uint64_t offset, std::span<const std::byte> data) noexcept {
  TieredFile& tier = *tier_;
  const FileFailure failure = guarded([&] { return tier.write_through(offset, data); });
  if (!has_told_.exchange(true)) {
    try {
      tell(path_ + (failure ? " cannot be written: " + failure.text() : " is written through where its tier fails"));
    } catch (const std::exception&) {
      tell("no memory");
    }
  }
  return failure.error;
}

int ProgramFile::Use::set_size(std::uint64_t size) const noexcept {
  const base::LockGuard lock(file_->end_of_file_);
  const FileFailure failure = guarded([&] { return tier().set_size(size); });
  if (!failure) {
    is_held();
    file_->wrote();
  }
  return failure.error;
}

int ProgramFile::Use::drain() const noexcept {
  const FileFailure failure = guarded([&] { return tier().drain(); });
  if (!failure) {
    file_->take_failure();
  }
  return failure.error;
}

int ProgramFile::Use::sync() const noexcept {
  const FileFailure failure = guarded([&] { return tier().sync(); });
  const int behind = file_->take_failure();
  return failure ? failure.error : behind;
}

void ProgramFile::changed() noexcept {
  const timespec now = file_time();
  const base::LockGuard lock(mutex_);
  modified_ = changed_ = now;
}

void ProgramFile::set_modified(const timespec* time) noexcept {
  if (time == nullptr) {
    changed();
    return;
  }
  const timespec now = file_time();
  const base::LockGuard lock(mutex_);
  modified_ = *time;
  changed_ = now;
}

void ProgramFile::wrote() noexcept {
  changed();
  if (tier_->written_through() != 0 && !has_told_.exchange(true)) {
    tell("the tier has no space for " + path_ + ", in " + folder_ +
         ": it is written through; free space there, or take a larger tier");
  }
  if (is_requested_ || tier_->log_bytes() < drained_bytes || is_requested_.exchange(true)) {
    return;
  }
  announce_drain();
  drain_behind();
}

void ProgramFile::announce_drain() noexcept {
  const base::LockGuard lock(mutex_);
  ++drains_;
}

bool ProgramFile::has_drains() noexcept {
  const base::LockGuard lock(mutex_);
  return drains_ != 0;
}

void ProgramFile::drain_behind() noexcept {
  const Within within;
  const std::shared_ptr<ProgramFile> self = shared_from_this();
  const auto ended = [self](const FileFailure& failure) {
    const Within inside;
    if (self->state_ == State::staged) {
      self->restore_times();
    }
    {
      const base::LockGuard lock(self->mutex_);
      // The bytes of a file that has no name any more cannot be missed.
      self->failure_ = failure && !self->drained_tier().is_removed() ? failure : self->failure_;
      self->is_requested_ = self->is_requested_ && failure;
      --self->drains_;
      self->no_drain_.notify_all();
    }
    self->drained_(self);
  };
  if (state_ != State::staged) {
    ended({});
    return;
  }
  try {
    // As long as a drain is announced, the tier stays.
    drains().request(std::shared_ptr<TieredFile>(self, &drained_tier()), ended);
  } catch (const std::exception&) {
    ended(guarded([&] { return drained_tier().drain(); }));
  }
}

void ProgramFile::wait_for_drains() noexcept {
  const EndingSignals ending;
  base::UniqueLock lock(mutex_);
  while (drains_ != 0) {
    no_drain_.wait(lock);
  }
}

int ProgramFile::take_failure() noexcept {
  const base::LockGuard lock(mutex_);
  const FileFailure failure = std::exchange(failure_, {});
  if (failure) {
    is_requested_ = false;
  }
  return failure.error;
}

// The drain has changed it. By the name: the end of another descriptor would end the locks of the program.
void ProgramFile::restore_times() noexcept {
  std::optional<timespec> modified;
  {
    const base::LockGuard lock(mutex_);
    modified = modified_;
  }
  struct stat64 status{};
  if (modified && libc::lstat64(path_.c_str(), &status) == 0 && identity_of(status) == identity_) {
    const timespec times[2] = {{0, UTIME_OMIT}, *modified};
    libc::utimensat(AT_FDCWD, path_.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
}

int ProgramFile::give_up(const char* why) noexcept {
  const Within within;
  const KeptErrno kept;
  const base::LockGuard lock(use_);
  if (state_ != State::staged) {
    state_ = State::plain;
    return 0;
  }
  if (const FileFailure failure = finish()) {
    try {
      tell(path_ + " should be written through, since " + (why != nullptr ? why : "the program ends") +
           ", and cannot: " + failure.text() + ". What was written is kept in " + folder_);
    } catch (const std::exception&) {
      tell("no memory");
    }
    return failure.error;
  }
  end();
  if (why != nullptr) {
    tell(path_ + " is written through from now on, since " + why);
  }
  return 0;
}

std::optional<FileFailure> ProgramFile::finish_closed() noexcept {
  const base::LockGuard lock(use_);
  if (has_drains()) {
    return std::nullopt;
  }
  FileFailure failure;
  {
    const base::LockGuard own(mutex_);
    failure = std::exchange(failure_, {});
  }
  if (state_ == State::staged && tier_->is_removed()) {
    failure = guarded([&tier = *tier_] { return tier.forget(); });
  } else if (state_ == State::staged && !failure) {
    failure = finish();
  }
  end();
  return failure;
}

// A thread that closes the file may have announced a drain since the last wait. From here on none is asked for, and the tier stays for those that were.
void ProgramFile::end() noexcept {
  state_ = State::plain;
  wait_for_drains();
  tier_ = nullptr;
  ++ends_;
}

FileFailure ProgramFile::finish() noexcept {
  wait_for_drains();
  FileFailure failure = guarded([&tier = *tier_] { return tier.finish(); });
  // The drain was refused since its bytes can be found by the descriptors of the program alone: for those they are there.
  if ((failure.error == ENOENT || failure.error == ESTALE) && tier_->is_removed()) {
    failure = guarded([&tier = *tier_] { return tier.forget(); });
  }
  if (!failure) {
    tier_->release();
  }
  restore_times();
  return failure;
}

// Of 512 bytes. What is staged comes into holes, or takes the place of what is there.
std::uint64_t ProgramFile::Use::blocks(std::uint64_t of_final) const noexcept {
  constexpr std::uint64_t block = 512;
  constexpr std::uint64_t page = 4096;
  const std::uint64_t whole = (size() + page - 1) / page * (page / block);
  return std::min(whole, of_final + (tier().log_bytes() + block - 1) / block);
}

void ProgramFile::Use::correct(struct stat64& status) const noexcept {
  status.st_size = static_cast<off64_t>(size());
  status.st_blocks = static_cast<blkcnt64_t>(blocks(static_cast<std::uint64_t>(status.st_blocks)));
  const base::LockGuard lock(file_->mutex_);
  status.st_mtim = file_->modified_.value_or(status.st_mtim);
  status.st_ctim = file_->changed_.value_or(status.st_ctim);
}

void ProgramFile::Use::correct(struct statx& status) const noexcept {
  status.stx_size = size();
  status.stx_blocks = blocks(status.stx_blocks);
  const auto set = [](struct statx_timestamp& time, const std::optional<timespec>& given) {
    if (given) {
      time.tv_sec = given->tv_sec;
      time.tv_nsec = static_cast<std::uint32_t>(given->tv_nsec);
    }
  };
  const base::LockGuard lock(file_->mutex_);
  set(status.stx_mtime, file_->modified_);
  set(status.stx_ctime, file_->changed_);
}

}  // namespace dovetail::interpose::staged
