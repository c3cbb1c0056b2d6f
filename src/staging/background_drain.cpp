#include "staging/background_drain.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "tasking/background.hpp"

namespace dovetail::staging {
namespace {

FileFailure drained(TieredFile& file) noexcept {
  try {
    return file.drain();
  } catch (const std::bad_alloc&) {
    return {.error = ENOMEM, .operation = "drain"};
  }
}

}  // namespace

BackgroundDrain::BackgroundDrain(unsigned most_at_once) : most_at_once_(std::max(most_at_once, 1U)) {}

BackgroundDrain::~BackgroundDrain() { wait(); }

void BackgroundDrain::request(std::shared_ptr<TieredFile> file, Done done) {
  {
    const base::LockGuard lock(mutex_);
    auto same =
        std::ranges::find_if(requested_, [&](const Requested& each) { return each.file == file && !each.runs; });
    if (same == requested_.end()) {
      same = requested_.insert(requested_.end(), {.file = std::move(file), .done = {}});
    }
    if (done) {
      same->done.push_back(std::move(done));
    }
    if (tasks_ == most_at_once_ || first_to_drain() == requested_.end()) {
      return;
    }
    ++tasks_;
  }
  if (!tasking::spawn_in_background({.label = "drain", .io = true, .on_failure = ignore_failure}, [this] { run(); })) {
    run();
  }
}

void BackgroundDrain::wait() {
  base::UniqueLock lock(mutex_);
  while (tasks_ != 0) {
    changed_.wait(lock);
  }
}

// Two drains of one file would wait for each other.
std::list<BackgroundDrain::Requested>::iterator BackgroundDrain::first_to_drain() {
  return std::ranges::find_if(requested_, [this](const Requested& each) REQUIRES(mutex_) {
    return !each.runs && std::ranges::none_of(requested_, [&each](const Requested& other) {
      return other.runs && other.file == each.file;
    });
  });
}

void BackgroundDrain::run() noexcept {
  base::UniqueLock lock(mutex_);
  for (auto next = first_to_drain(); next != requested_.end(); next = first_to_drain()) {
    next->runs = true;
    lock.unlock();
    const FileFailure failure = drained(*next->file);
    for (const Done& done : next->done) {
      done(failure);
    }
    Requested ended = std::move(*next);
    lock.lock();
    requested_.erase(next);
    lock.unlock();
    ended.file.reset();
    lock.lock();
  }
  --tasks_;
  changed_.notify_all();
}

}  // namespace dovetail::staging
