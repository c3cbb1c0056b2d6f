// What the program asks for itself.
#include "dovetail/prefetch.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <new>
#include <utility>

#include "base/available_memory.hpp"
#include "base/process_mutex.hpp"
#include "dovetail/failure.hpp"
#include "prefetch/fetch.hpp"
#include "storage/declared_files.hpp"
#include "storage/open_file.hpp"
#include "tasking/background.hpp"
#include "tasking/hosting.hpp"
#include "tasking/service.hpp"

namespace dovetail {
namespace prefetching {
namespace {

constexpr std::size_t most_calls = 1024;

// Of the process: a program may ask outside of its runtimes. One of them lends an executor.
class Requests : tasking::BlockingWork {
 public:
  static Requests& instance() {
    static auto* const made = new Requests;  // never destroyed: threads may ask until the very end of the process
    return *made;
  }

  void add(Wanted wanted) {
    const base::LockGuard lock(mutex_);
    if (calls_.size() >= most_calls) {
      return;
    }
    calls_.push_back(std::move(wanted));
    if (!reading_) {
      reading_ = tasking::with_background_runtime([this](detail::RuntimeCore& core) { begin(core); });
      give_up_if_not_reading();
    }
  }

 private:
  Requests() {
    run = [](BlockingWork* work) { static_cast<Requests*>(work)->read(); };
    // What was asked for is the parent's, and no thread reads here.
    pthread_atfork(nullptr, nullptr, []() NO_THREAD_SAFETY_ANALYSIS {
      instance().calls_.clear();
      instance().reading_ = false;
    });
  }

  void begin(detail::RuntimeCore& core) {
    host_ = &core;
    beginner_.store(gettid(), std::memory_order_relaxed);
    tasking::post_blocking(core, this);
    beginner_.store(0, std::memory_order_relaxed);
  }

  // Nothing can be read: there is no memory for a runtime or no thread for it, or the program's last runtime ends.
  void give_up_if_not_reading() REQUIRES(mutex_) {
    reading_ = reading_ && !std::exchange(no_thread_, false);
    if (!reading_) {
      calls_.clear();
    }
  }

  bool next(Wanted& wanted) {
    {
      const base::LockGuard lock(mutex_);
      if (calls_.empty()) {
        return false;
      }
      wanted = std::move(calls_.front());
      calls_.pop_front();
    }
    std::uint64_t room = base::available_memory() / 4;
    for (Range& range : wanted.ranges) {
      range.end = range.offset + std::min(room, range.end - range.offset);
      room -= range.end - range.offset;
    }
    std::erase_if(wanted.ranges, [](const Range& range) { return range.offset == range.end; });
    return true;
  }

  void read() noexcept {
    // No thread can be made, and this is the one that asks: it must not wait.
    if (beginner_.load(std::memory_order_relaxed) == gettid()) {
      no_thread_ = true;
      return;
    }
    try {
      Fetch().run([this](Wanted& wanted) { return next(wanted); }, [this] { return tasking::is_ending(*host_); });
    } catch (const std::bad_alloc&) {
      // What was being asked for is read when the program asks.
    }
    const base::LockGuard lock(mutex_);
    reading_ = !calls_.empty() && tasking::with_host(nullptr, [this](detail::RuntimeCore& core) { begin(core); });
    give_up_if_not_reading();
  }

  base::ProcessMutex mutex_;
  std::deque<Wanted> calls_ GUARDED_BY(mutex_);
  bool reading_ GUARDED_BY(mutex_) = false;
  std::atomic<pid_t> beginner_{0};  // the thread that hands this over
  bool no_thread_ = false;          // written by that thread alone
  // For the executor that reads.
  detail::RuntimeCore* host_ = nullptr;
};

}  // namespace
}  // namespace prefetching

void prefetch(const File& file, std::span<const FileRange> ranges) {
  constexpr std::uint64_t largest_offset = INT64_MAX;
  if (!file.is_open()) {
    throw IoError(EBADF, "prefetch", file.path(), 0, 0);
  }
  prefetching::Wanted wanted;
  wanted.ranges.reserve(ranges.size());
  for (const FileRange& range : ranges) {
    if (range.offset > largest_offset || range.length > largest_offset - range.offset) {
      throw IoError(EINVAL, "prefetch", file.path(), range.offset, range.length);
    }
    if (range.length != 0) {
      wanted.ranges.push_back({range.offset, range.offset + range.length});
    }
  }
  const prefetching::Settings settings = prefetching::Settings::from_environment();
  storage::keep_declared_files();
  const std::shared_ptr<storage::OpenFile> open = storage::declared_file(file.space());
  if (wanted.ranges.empty() || open == nullptr || open->direct_descriptor() >= 0 || open->stream()) {
    return;
  }
  prefetching::arrange(wanted.ranges, *open, settings);
  wanted.file = open;
  prefetching::Requests::instance().add(std::move(wanted));
}

}  // namespace dovetail
