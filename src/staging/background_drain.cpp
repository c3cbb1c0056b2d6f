#include "staging/background_drain.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "storage/uninterposed.hpp"
#include "tasking/background.hpp"

namespace dovetail::staging {
namespace {

FileFailure drained(TieredFile* file) noexcept {
  try {
    return file != nullptr ? file->drain() : FileFailure{};
  } catch (const std::bad_alloc&) {
    return {.error = ENOMEM, .operation = "drain"};
  }
}

}  // namespace

BackgroundDrain::BackgroundDrain(unsigned most_at_once) {
  for (unsigned i = 0; i < std::max(most_at_once, 1U); ++i) {
    drainers_.push_back(std::make_unique<Drainer>(*this));
    idle_.push_back(drainers_.back().get());
  }
}

BackgroundDrain::~BackgroundDrain() { wait(); }

void BackgroundDrain::request(std::shared_ptr<TieredFile> file, Done done) {
  Drainer* drainer = nullptr;
  {
    const base::LockGuard lock(mutex_);
    keep(std::move(file), std::move(done));
    if (first_to_drain() == requested_.end() || idle_.empty()) {
      return;  // one that is busy will look for it
    }
    drainer = idle_.back();
    idle_.pop_back();
  }
  bool is_posted = false;
  tasking::with_background_runtime([&](detail::RuntimeCore& core) { is_posted = drainer->work.post(core); });
  if (!is_posted) {
    run(*drainer);
  }
}

void BackgroundDrain::keep(std::shared_ptr<TieredFile> file, Done done) {
  const auto same = std::ranges::find_if(
      requested_, [&](const Requested& each) { return file != nullptr && each.file == file && !each.runs; });
  if (same != requested_.end()) {
    same->done.push_back(std::move(done));
    return;
  }
  AllRequested added(1);
  added.front().file = std::move(file);
  added.front().done.push_back(std::move(done));
  requested_.splice(requested_.end(), added);
}

void BackgroundDrain::wait() {
  base::UniqueLock lock(mutex_);
  while (idle_.size() != drainers_.size()) {
    changed_.wait(lock);
  }
}

// Two drains of one file would wait for each other.
BackgroundDrain::AllRequested::iterator BackgroundDrain::first_to_drain() {
  return std::ranges::find_if(requested_, [this](const Requested& each) REQUIRES(mutex_) {
    return !each.runs && std::ranges::none_of(requested_, [&each](const Requested& other) {
      return other.runs && other.file == each.file;
    });
  });
}

void BackgroundDrain::run(Drainer& drainer) noexcept {
  const storage::Uninterposed
      own;  // a library that stands before calls on files must not take the drain's for the program's
  base::UniqueLock lock(mutex_);
  for (auto next = first_to_drain(); next != requested_.end(); next = first_to_drain()) {
    next->runs = true;
    lock.unlock();
    const FileFailure failure = drained(next->file.get());
    for (const Done& done : next->done) {
      if (done) {
        done(failure);
      }
    }
    AllRequested ended;
    lock.lock();
    ended.splice(ended.end(), requested_, next);
    lock.unlock();
    ended.clear();  // closes the file, perhaps, which takes its time
    lock.lock();
  }
  idle_.push_back(&drainer);
  changed_.notify_all();
}

}  // namespace dovetail::staging
