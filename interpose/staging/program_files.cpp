#include "program_files.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "tell.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

using dovetail::staging::FileFailure;
using FilePointer = std::shared_ptr<ProgramFile>;

struct Files {
  base::Mutex mutex;
  base::ConditionVariable changed;
  std::map<FileIdentity, FilePointer> all GUARDED_BY(lock_of_files());
};
// Never destroyed: other threads may make calls while the program ends.
constinit std::atomic<Files*> made{nullptr};
constinit std::atomic<std::size_t> count{0};

Files& files() {
  Files* found = made.load(std::memory_order_acquire);
  if (found == nullptr) {
    auto* const mine = new Files;
    if (made.compare_exchange_strong(found, mine)) {
      return *mine;
    }
    delete mine;
  }
  return *found;
}

void forget(Files& place, const FilePointer& file) REQUIRES(lock_of_files()) {
  place.all.erase(file->identity());
  count = place.all.size();
  place.changed.notify_all();
}

void tell_of(const FilePointer& file, const FileFailure& failure) noexcept {
  try {
    tell(failure.text() + ". What was written to " + file->path() + " is kept in " + file->folder() +
         ": the next opening of the file, or `dovetail staging recover`, brings it there");
  } catch (const std::exception&) {
    tell("a drain has failed: see `dovetail staging status`");
  }
}

// Whether the program has closed it, and nothing is left that has to come first.
bool begin_end(const FilePointer& file) noexcept {
  Files& place = files();
  const base::LockGuard lock(lock_of_files());
  const auto found = place.all.find(file->identity());
  const bool is_known = found != place.all.end() && found->second == file;
  if (!is_known || file->openings != 0 || file->has_drains() || file->is_being_removed || file->is_ending) {
    return false;
  }
  return file->is_ending = true;
}

// The lock of a file is never taken while that of all files is held: its holder may wait for a drain, and the thread that drains comes here.
void end_closed(const FilePointer& file) noexcept {
  const Within within;
  while (begin_end(file)) {
    const std::optional<FileFailure> failure = file->finish_closed();
    {
      Files& place = files();
      const base::LockGuard lock(lock_of_files());
      file->is_ending = false;
      if (failure) {
        file->end_error = failure->error;
        forget(place, file);
      }
      place.changed.notify_all();
    }
    if (failure && *failure) {
      tell_of(file, *failure);
    }
  }
}

void wait_for_end(Files& place, base::UniqueLock& lock, const FileIdentity& identity) REQUIRES(lock_of_files()) {
  const auto is_ending = [&]() REQUIRES(lock_of_files()) {
    const auto found = place.all.find(identity);
    return found != place.all.end() && found->second->is_ending;
  };
  while (is_ending()) {
    const EndingSignals ending;
    place.changed.wait(lock);
  }
}

template <class Which>
std::vector<FilePointer> files_that(const Which& are_wanted) {
  Files& place = files();
  const base::LockGuard lock(lock_of_files());
  std::vector<FilePointer> found;
  for (const auto& [identity, file] : place.all) {
    if (are_wanted(*file)) {
      found.push_back(file);
    }
  }
  return found;
}
bool is_open(const ProgramFile& file) noexcept REQUIRES(lock_of_files()) { return file.openings != 0; }

}  // namespace

base::Mutex& lock_of_files() noexcept { return files().mutex; }

bool no_files() noexcept { return count.load(std::memory_order_relaxed) == 0; }

FilePointer find_file(const FileIdentity& identity) noexcept {
  if (no_files()) {
    return nullptr;
  }
  const HeldSignals held;
  Files& place = files();
  const base::LockGuard lock(lock_of_files());
  const auto found = place.all.find(identity);
  return found == place.all.end() ? nullptr : found->second;
}

FilePointer open_known_file(const FileIdentity& identity) {
  if (no_files()) {
    return nullptr;
  }
  const Within within;
  Files& place = files();
  base::UniqueLock lock(lock_of_files());
  wait_for_end(place, lock, identity);
  const auto found = place.all.find(identity);
  if (found == place.all.end()) {
    return nullptr;
  }
  ++found->second->openings;
  return found->second;
}

FilePointer open_file(const FileIdentity& identity, const std::string& path, const FileRule& rule) {
  const Within within;
  Files& place = files();
  base::UniqueLock lock(lock_of_files());
  wait_for_end(place, lock, identity);
  FilePointer& file = place.all[identity];
  if (file == nullptr) {
    try {
      file = std::make_shared<ProgramFile>(identity, path, rule, end_closed);
    } catch (...) {
      place.all.erase(identity);
      throw;
    }
    count = place.all.size();
  }
  ++file->openings;
  return file;
}

void open_again(ProgramFile& file) noexcept {
  const HeldSignals held;
  const base::LockGuard lock(lock_of_files());
  ++file.openings;
}

int close_file(const FilePointer& file) noexcept {
  const Within within;
  const int error = file->take_failure();
  {
    const base::LockGuard lock(lock_of_files());
    if (--file->openings != 0) {
      return error;
    }
    file->announce_drain();
  }
  file->drain_behind();
  return error;
}

int settle_file(const FilePointer& file, const char* why) noexcept {
  const Within within;
  {
    Files& place = files();
    base::UniqueLock lock(lock_of_files());
    const auto is_pending = [&]() REQUIRES(lock_of_files()) {
      const auto found = place.all.find(file->identity());
      return found != place.all.end() && found->second == file && file->openings == 0;
    };
    while (is_pending()) {
      const EndingSignals ending;
      place.changed.wait(lock);
    }
    if (file->openings == 0) {
      return file->end_error;
    }
  }
  return file->give_up(why);
}

int settle_below(const std::string& folder, const char* why) noexcept {
  const Within within;
  int first = 0;
  try {
    for (const FilePointer& file :
         files_that([&](const ProgramFile& each) { return each.path().starts_with(folder + "/"); })) {
      const int error = settle_file(file, why);
      first = first != 0 ? first : error;
    }
  } catch (const std::exception&) {
    first = ENOMEM;
  }
  return first;
}

bool begin_removal(ProgramFile& file) noexcept {
  const HeldSignals held;
  const base::LockGuard lock(lock_of_files());
  if (file.openings != 0 || file.is_being_removed || file.is_ending) {
    return false;
  }
  return file.is_being_removed = true;
}

void end_removal(ProgramFile& file, bool is_removed) noexcept {
  const Within within;
  {
    const base::LockGuard lock(lock_of_files());
    file.is_being_removed = false;
  }
  end_closed(file.shared_from_this());
  if (is_removed) {
    settle_file(file.shared_from_this(), "it was removed");
  }
}

int finish_all(const char* why) noexcept {
  if (no_files()) {
    return 0;
  }
  const Within within;
  int first = 0;
  std::vector<FilePointer> closed;
  try {
    for (const FilePointer& file :
         files_that([](const ProgramFile& file) REQUIRES(lock_of_files()) { return is_open(file); })) {
      const int error = file->give_up(why);
      first = first != 0 ? first : error;
    }
    closed = files_that([](const ProgramFile& file) REQUIRES(lock_of_files()) { return !is_open(file); });
  } catch (const std::exception&) {
    first = first != 0 ? first : ENOMEM;
  }
  Files& place = files();
  base::UniqueLock lock(lock_of_files());
  while (std::ranges::any_of(place.all,
                             [](const auto& each) REQUIRES(lock_of_files()) { return !is_open(*each.second); })) {
    const EndingSignals ending;
    place.changed.wait(lock);
  }
  for (const FilePointer& file : closed) {
    first = first != 0 ? first : file->end_error;
  }
  return first;
}

int sync_all() noexcept {
  if (no_files()) {
    return 0;
  }
  const Within within;
  int first = 0;
  try {
    for (const FilePointer& file : files_that([](const ProgramFile&) { return true; })) {
      const ProgramFile::Use use = file->use();
      const int error = use.is_staged() ? use.sync() : 0;
      first = first != 0 ? first : error;
    }
  } catch (const std::exception&) {
    first = ENOMEM;
  }
  return first;
}

void forget_files() {
  made = nullptr;
  count = 0;
}

}  // namespace dovetail::interpose::staged
