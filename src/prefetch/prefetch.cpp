// What the program asks for itself.
#include "dovetail/prefetch.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>
#include <new>
#include <utility>

#include "base/available_memory.hpp"
#include "base/process_mutex.hpp"
#include "dovetail/failure.hpp"
#include "prefetch/fetch.hpp"
#include "prefetch/inside_counts.hpp"
#include "storage/declared_files.hpp"
#include "storage/open_file.hpp"
#include "tasking/background.hpp"
#include "tasking/executor_work.hpp"
#include "tasking/hosting.hpp"

namespace dovetail {
namespace prefetching {
namespace {

constexpr std::size_t most_calls = 1024;

// Of the process: a program may ask outside of its runtimes. One of them lends an executor.
class Requests {
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
      begin([](const auto& use) { return tasking::with_background_runtime(use); });
    }
  }

 private:
  Requests() {
    // What was asked for is the parent's, and no thread reads here: one of the parent's may have been at it.
    pthread_atfork(nullptr, nullptr, []() NO_THREAD_SAFETY_ANALYSIS {
      instance().calls_.clear();
      instance().reading_ = false;
      [[maybe_unused]] const auto* const left = instance().fetch_.release();
      instance().fetch_ = std::make_unique<Fetch>();
    });
  }

  // `with`: calls a function with a runtime, if there is one.
  template <class With>
  void begin(const With& with) REQUIRES(mutex_) {
    bool is_posted = false;
    with([&](detail::RuntimeCore& core) {
      host_ = &core;
      is_posted = work_.post(core);
    });
    reading_ = is_posted;
    if (!reading_) {
      // Nothing can be read: there is no memory for a runtime or no thread for it, or the program's last runtime ends.
      calls_.clear();
    }
  }

  bool next(Wanted& wanted) {
    if (std::exchange(is_looked_at_, false)) {
      counts_of(Way::calls).asked.fetch_add(fetch_->asked(), std::memory_order_relaxed);
    }
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
    is_looked_at_ = true;
    std::erase_if(wanted.ranges, [](const Range& range) { return range.offset == range.end; });
    return true;
  }

  void read() noexcept {
    bool is_more = false;
    try {
      is_more =
          fetch_->run([this](Wanted& wanted) { return next(wanted); }, [this] { return tasking::is_ending(*host_); });
    } catch (const std::bad_alloc&) {
      is_more = false;  // what was being asked for is read when the program asks
    }
    const base::LockGuard lock(mutex_);
    reading_ = is_more || !calls_.empty();
    if (reading_) {
      begin([](const auto& use) { return tasking::with_host(nullptr, use); });
    }
  }

  base::ProcessMutex mutex_;
  std::deque<Wanted> calls_ GUARDED_BY(mutex_);
  bool reading_ GUARDED_BY(mutex_) = false;
  tasking::ExecutorWork work_{[this] { read(); }};
  // For the executor that reads.
  bool is_looked_at_ = false;  // `fetch_` has counted what `next` gave last
  detail::RuntimeCore* host_ = nullptr;
  std::unique_ptr<Fetch> fetch_ = std::make_unique<Fetch>();
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
