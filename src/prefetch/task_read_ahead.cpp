#include "prefetch/task_read_ahead.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "base/available_memory.hpp"
#include "base/clock.hpp"
#include "prefetch/inside_counts.hpp"
#include "prefetch/page_cache.hpp"
#include "storage/declared_files.hpp"
#include "storage/open_file.hpp"
#include "tasking/named_spaces.hpp"

namespace dovetail::prefetching {
namespace {

// The first batch is short, since its tasks may be about to begin; each is twice as long as the one before.
constexpr std::uint64_t first_bytes_together = std::uint64_t{256} << 10;
constexpr std::uint64_t most_bytes_together = std::uint64_t{4} << 20;
constexpr std::size_t most_tasks_together = 512;
constexpr std::size_t most_interests = 4096;
constexpr std::uint64_t short_file = std::uint64_t{4} << 20;
constexpr std::uint64_t window_lasts = 100'000'000;  // nanoseconds
constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

[[maybe_unused]] const bool registered =
    tasking::register_access_observer([](detail::RuntimeCore& core) -> std::unique_ptr<tasking::AccessObserver> {
      const Settings settings = Settings::from_environment();
      // Where the kernel does not say what is in memory, each task would cost a note for ever.
      if (!settings.of_tasks || (!settings.whole_files && !kernel_tells_what_is_cached(syscall))) {
        return nullptr;
      }
      storage::keep_declared_files();
      return std::make_unique<TaskReadAhead>(core, settings);
    });

// 0: it is closed.
std::uint64_t size_of(std::uint64_t space) noexcept {
  const std::shared_ptr<storage::OpenFile> file = storage::declared_file(space);
  if (file == nullptr || !file->begin()) {
    return 0;
  }
  struct statx status{};  // without asking a server
  const bool known = statx(file->descriptor(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &status) == 0;
  file->end();
  return known ? status.stx_size : 0;
}

// What comes last is the end of a part. To ask about all of it may take as long as to read it.
void count_begun(const PendingTask& task) {
  InMemory all = InMemory::all;
  for (const FilePart& part : task.reads) {
    const std::uint64_t end = std::min(part.range.end(), size_of(part.space));
    const InMemory last =
        end <= part.range.offset ? InMemory::all : in_memory(storage::declared_file(part.space), {end - 1, end});
    all = last == InMemory::all ? all : last;
  }
  WayCounts& counts = counts_of(Way::tasks);
  counts.unread.fetch_sub(task.bytes, std::memory_order_relaxed);
  if (all == InMemory::unknown) {
    return;
  }
  const bool has_come = all == InMemory::all;
  counts.reads.reads.fetch_add(1, std::memory_order_relaxed);
  counts.reads.waited.fetch_add(has_come ? 0 : 1, std::memory_order_relaxed);
}

bool may_be_file(const Region& region) noexcept {
  return region.space != 0 && region.length != 0 && !tasking::may_be_named(region.space);
}

}  // namespace

class TaskReadAhead::Observed : public tasking::ObservedTask {
 public:
  Observed(TaskReadAhead& ahead, std::shared_ptr<PendingTask> task) noexcept : ahead_(ahead), task_(std::move(task)) {}
  ~Observed() override {
    ahead_.change([this](PendingReads& pending) { pending.ends(*task_); });
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;
  void begins() noexcept override { ahead_.begins(*task_); }

 private:
  TaskReadAhead& ahead_;
  const std::shared_ptr<PendingTask> task_;
};

TaskReadAhead::TaskReadAhead(detail::RuntimeCore& core, const Settings& settings)
    : core_(core), settings_(settings), window_(settings.window) {}

// Null: nothing is read ahead there. An address that was returned holds until the next call.
FileInterest* TaskReadAhead::interest_in(std::uint64_t space) {
  const auto known = interests_.find(space);
  if (known != interests_.end()) {
    return &known->second;
  }
  // Other numbers than those of open files are no files. A reader would wait for the task that makes what they stand for, such as a result in Python.
  const std::shared_ptr<storage::OpenFile> file = storage::declared_file(space);
  if (file == nullptr || file->stream() || file->direct_descriptor() >= 0 || file->device().in_memory) {
    return nullptr;
  }
  if (interests_.size() >= most_interests) {
    interests_.clear();  // of files that are gone, most of them
  }
  return &interests_.try_emplace(space, device::request_facts_of(file->device().id)).first->second;
}

void TaskReadAhead::begins(PendingTask& task) {
  const std::uint64_t now = base::nanoseconds();
  bool is_read_ahead = false;
  {
    const base::LockGuard lock(mutex_);
    if (!task.begun && !task.reads.empty()) {
      const std::uint64_t ahead = task.taken ? now - std::min(now, task.taken_at) : 0;
      tell(task.reads.front().space, [&](FileInterest& interest) { interest.begins(ahead, now); });
    }
  }
  change([&](PendingReads& pending) {
    is_read_ahead = !task.begun && task.taken;  // it may have been taken meanwhile
    pending.begins(task);
  });
  if (is_read_ahead) {
    count_begun(task);
  }
}

template <class Tell>
void TaskReadAhead::tell(std::uint64_t space, const Tell& tell) {
  if (FileInterest* const interest = interest_in(space)) {
    if (interest->is_new()) {
      tell(new_files_);
    }
    tell(*interest);
  }
}

// Programs of many small files that are cached.
bool TaskReadAhead::leaves_new_files(std::uint64_t space) {
  return new_files_.rests() && !interests_.contains(space) &&
         new_files_.wants({}, base::coarse_nanoseconds()) == FileInterest::Wish::nothing;
}

// Most tasks of a program that reads what is cached are told from others here.
bool TaskReadAhead::is_at_rest(const AccessList& accesses) const noexcept {
  std::uint64_t until = never;
  for (const Access& access : accesses) {
    const std::uint64_t space = access.region.space;
    if (!may_be_file(access.region)) {
      continue;
    }
    const Resting& resting = resting_[space % std::tuple_size_v<decltype(resting_)>];
    if (resting.space.load(std::memory_order_relaxed) != space) {
      return false;
    }
    until = std::min(until, resting.until.load(std::memory_order_relaxed));
  }
  return until == never || base::coarse_nanoseconds() < until;
}

void TaskReadAhead::keep_at_rest(std::uint64_t space, std::uint64_t until) noexcept {
  Resting& resting = resting_[space % std::tuple_size_v<decltype(resting_)>];
  resting.space.store(space, std::memory_order_relaxed);
  resting.until.store(until, std::memory_order_relaxed);
}

TaskReadAhead::Interest TaskReadAhead::interest_of(const AccessList& accesses) {
  Interest found;
  const base::LockGuard lock(mutex_);
  for (const Access& access : accesses) {
    const Region& region = access.region;
    if (!may_be_file(region) || leaves_new_files(region.space)) {
      continue;
    }
    FileInterest* const file = interest_in(region.space);
    if (file == nullptr) {
      continue;
    }
    if (access.mode != AccessMode::in) {
      found.notes |= file->wants_writer();
      continue;
    }
    const FileInterest::Wish wish =
        file->wants({region.begin, region.length}, file->rests() ? base::coarse_nanoseconds() : 0);
    found.notes |= wish == FileInterest::Wish::note;
    found.looks |= wish == FileInterest::Wish::look;
    found.in_order &= file->is_in_order();
    if (file->rests()) {
      keep_at_rest(region.space, file->rests_until());
    }
  }
  return found;
}

// Null: it has nothing to do with files.
std::shared_ptr<PendingTask> TaskReadAhead::describe(const AccessList& accesses) const {
  std::shared_ptr<PendingTask> task;
  for (const Access& access : accesses) {
    const Region& region = access.region;
    if (!may_be_file(region) || storage::declared_file(region.space) == nullptr) {
      continue;
    }
    if (task == nullptr) {
      task = std::make_shared<PendingTask>();
    }
    (access.mode == AccessMode::in ? task->reads : task->writes)
        .push_back({region.space, {region.begin, region.length}});
  }
  return task;
}

// Some describe more than there is: `dt.open` declares all that a file may ever have, of which its task may read little.
void TaskReadAhead::limit_whole_files(PendingTask& task) const {
  for (FilePart& part : task.reads) {
    if (part.range.length > settings_.window) {
      const std::uint64_t size = size_of(part.space);
      const std::uint64_t length = size - std::min(size, part.range.offset);
      part.range.length = settings_.whole_files || length <= short_file ? length : 0;
    }
  }
}

std::unique_ptr<tasking::ObservedTask> TaskReadAhead::spawned(const AccessList& accesses) noexcept {
  if (is_at_rest(accesses)) {
    return nullptr;
  }
  try {
    const Interest interest = interest_of(accesses);
    std::shared_ptr<PendingTask> task = interest.notes || interest.looks ? describe(accesses) : nullptr;
    if (task == nullptr) {
      return nullptr;
    }
    task->in_order = interest.in_order;
    limit_whole_files(*task);
    if (interest.looks && is_there(*task) && !interest.notes) {
      return nullptr;
    }
    auto observed = std::make_unique<Observed>(*this, task);
    change([&](PendingReads& pending) { pending.enter(task); });
    return observed;
  } catch (const std::exception&) {
    return nullptr;  // without memory it is read when it asks
  }
}

// Where the kernel does not say it, nothing is to be read ahead by default.
bool TaskReadAhead::is_in_memory(const FilePart& part) const {
  const InMemory found = in_memory(storage::declared_file(part.space), {part.range.offset, part.range.end()});
  return found == InMemory::all || (found == InMemory::unknown && !settings_.whole_files);
}

bool TaskReadAhead::is_there(const PendingTask& task) {
  bool all = true;
  const std::uint64_t now = base::nanoseconds();
  for (const FilePart& part : task.reads) {
    const bool is_empty = part.range.length == 0;
    const bool is_there = is_empty || is_in_memory(part);
    all &= is_there;
    const base::LockGuard lock(mutex_);
    const auto was_seen = [&](FileInterest& interest) { interest.was_seen(is_there, now); };
    FileInterest* const own = interest_in(part.space);
    if (own != nullptr && is_empty) {
      was_seen(*own);  // which says nothing of files that are new
    } else if (own != nullptr) {
      const bool rested = own->rests();
      tell(part.space, was_seen);
      if (rested && !own->rests()) {
        keep_at_rest(part.space, 0);
      }
    }
  }
  return all;
}

bool TaskReadAhead::reading() const {
  const base::LockGuard lock(mutex_);
  return reading_;
}

std::uint64_t TaskReadAhead::ahead() const {
  const base::LockGuard lock(mutex_);
  return pending_.ahead();
}

template <class Change>
void TaskReadAhead::change(Change change) {
  {
    const base::LockGuard lock(mutex_);
    change(pending_);
    if (reading_ || !pending_.is_due(window_)) {
      return;
    }
    reading_ = true;
  }
  begin();
}

void TaskReadAhead::begin() {
  if (!work_.post(core_)) {
    const base::LockGuard lock(mutex_);
    reading_ = false;  // what tasks do next tries again
  }
}

void TaskReadAhead::read() noexcept {
  bytes_together_ = first_bytes_together;
  bool again = false;
  try {
    again = fetch_.run([this](Wanted& wanted) { return next(wanted); }, [this] { return tasking::is_ending(core_); });
  } catch (const std::bad_alloc&) {
    batch_.clear();  // no memory: what was taken is read when its task asks
  }
  {
    const base::LockGuard lock(mutex_);
    again = !tasking::is_ending(core_) && (again || !batch_.empty() || pending_.is_due(window_));
    reading_ = again;
  }
  if (again) {
    begin();
  }
}

void TaskReadAhead::refresh_window() {
  const std::uint64_t now = base::nanoseconds();
  if (now - window_since_ < window_lasts) {
    return;
  }
  window_since_ = now;
  const std::uint64_t window = std::min(settings_.window, base::available_memory() / 4);
  const base::LockGuard lock(mutex_);
  window_ = window;
}

// Tasks that follow each other often read what lies side by side: some together make fewer requests.
void TaskReadAhead::take_batch() {
  std::map<std::uint64_t, Part> parts;
  std::uint64_t bytes = 0;
  const std::uint64_t now = base::nanoseconds();
  const auto leave = [&](const PendingTask& task) REQUIRES(mutex_) {
    const FileInterest* const file = task.in_order ? interest_in(task.reads.front().space) : nullptr;
    return file != nullptr && file->is_being_read(now);
  };
  {
    const base::LockGuard lock(mutex_);
    for (std::size_t tasks = 0; tasks < most_tasks_together && bytes < bytes_together_; ++tasks) {
      const std::shared_ptr<PendingTask> task = pending_.take(window_, leave);
      if (task == nullptr) {
        break;
      }
      task->taken_at = now;
      bytes += task->bytes;
      counts_of(Way::tasks).unread.fetch_add(task->bytes, std::memory_order_relaxed);
      for (const FilePart& part : task->reads) {
        Part& of_file = parts[part.space];
        of_file.wanted.ranges.push_back({part.range.offset, part.range.end()});
        ++of_file.tasks;
      }
    }
  }
  bytes_together_ = std::min(2 * bytes_together_, most_bytes_together);
  for (auto& [space, part] : parts) {
    if (const auto file = storage::declared_file(space)) {
      arrange(part.wanted.ranges, *file, settings_);
      part.wanted.file = file;
      part.space = space;
      batch_.push_back(std::move(part));
    }
  }
  std::ranges::reverse(batch_);
}

void TaskReadAhead::tell_what_was_there() {
  const Part part = std::exchange(looked_at_, {});
  if (part.tasks == 0) {
    return;
  }
  const std::uint64_t now = base::nanoseconds();
  const bool was_there = fetch_.asked() == 0;
  counts_of(Way::tasks).asked.fetch_add(fetch_.asked(), std::memory_order_relaxed);
  const base::LockGuard lock(mutex_);
  tell(part.space, [&](FileInterest& interest) { interest.looked_at(part.tasks, was_there, now); });
}

bool TaskReadAhead::next(Wanted& wanted) {
  tell_what_was_there();
  if (batch_.empty()) {
    refresh_window();
    take_batch();
  }
  if (batch_.empty()) {
    return false;
  }
  looked_at_ = std::move(batch_.back());
  batch_.pop_back();
  wanted = looked_at_.wanted;
  return true;
}

}  // namespace dovetail::prefetching
