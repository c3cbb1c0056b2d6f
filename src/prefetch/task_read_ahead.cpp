#include "prefetch/task_read_ahead.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <utility>

#include "base/available_memory.hpp"
#include "base/clock.hpp"
#include "storage/declared_files.hpp"
#include "storage/open_file.hpp"
#include "tasking/named_spaces.hpp"

namespace dovetail::prefetching {
namespace {

// The first batch is short, since its tasks may be about to begin; each is twice as long as the one before.
constexpr std::uint64_t first_bytes_together = std::uint64_t{256} << 10;
constexpr std::uint64_t most_bytes_together = std::uint64_t{4} << 20;
constexpr std::size_t most_tasks_together = 512;
constexpr std::uint64_t window_lasts = 100'000'000;  // nanoseconds

[[maybe_unused]] const bool registered =
    tasking::register_access_observer([](detail::RuntimeCore& core) -> std::unique_ptr<tasking::AccessObserver> {
      const Settings settings = Settings::from_environment();
      if (!settings.of_tasks) {
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
  struct stat status{};
  const bool known = fstat(file->descriptor(), &status) == 0;
  file->end();
  return known ? static_cast<std::uint64_t>(status.st_size) : 0;
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
  void begins() noexcept override {
    ahead_.change([this](PendingReads& pending) { pending.begins(*task_); });
  }

 private:
  TaskReadAhead& ahead_;
  const std::shared_ptr<PendingTask> task_;
};

TaskReadAhead::TaskReadAhead(detail::RuntimeCore& core, const Settings& settings)
    : core_(core), settings_(settings), window_(settings.window) {}

// Null: it has nothing to do with files.
std::shared_ptr<PendingTask> TaskReadAhead::describe(const AccessList& accesses) {
  std::shared_ptr<PendingTask> task;
  for (const Access& access : accesses) {
    const Region& region = access.region;
    // Other numbers than those of open files are no files. A reader would wait for the task that makes what they stand for, such as a result in Python.
    if (region.space == 0 || region.length == 0 || tasking::may_be_named(region.space) ||
        storage::declared_file(region.space) == nullptr) {
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

std::unique_ptr<tasking::ObservedTask> TaskReadAhead::spawned(const AccessList& accesses) noexcept {
  try {
    std::shared_ptr<PendingTask> task = describe(accesses);
    if (task == nullptr) {
      return nullptr;
    }
    // A description of more than there is: `dt.open` declares all that a file may ever have.
    for (FilePart& part : task->reads) {
      if (part.range.length > settings_.window) {
        const std::uint64_t size = size_of(part.space);
        part.range.length = size - std::min(size, part.range.offset);
      }
    }
    auto observed = std::make_unique<Observed>(*this, task);
    change([&](PendingReads& pending) { pending.enter(task); });
    return observed;
  } catch (const std::exception&) {
    return nullptr;  // without memory it is read when it asks
  }
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
bool TaskReadAhead::next(Wanted& wanted) {
  if (batch_.empty()) {
    refresh_window();
    std::map<std::uint64_t, std::vector<Range>> ranges;
    std::uint64_t bytes = 0;
    {
      const base::LockGuard lock(mutex_);
      for (std::size_t tasks = 0; tasks < most_tasks_together && bytes < bytes_together_; ++tasks) {
        const std::shared_ptr<PendingTask> task = pending_.take(window_);
        if (task == nullptr) {
          break;
        }
        bytes += task->bytes;
        for (const FilePart& part : task->reads) {
          ranges[part.space].push_back({part.range.offset, part.range.end()});
        }
      }
    }
    bytes_together_ = std::min(2 * bytes_together_, most_bytes_together);
    for (auto& [space, of_file] : ranges) {
      if (const auto file = storage::declared_file(space)) {
        arrange(of_file, *file, settings_);
        batch_.push_back({file, std::move(of_file)});
      }
    }
    std::ranges::reverse(batch_);
  }
  if (batch_.empty()) {
    return false;
  }
  wanted = std::move(batch_.back());
  batch_.pop_back();
  return true;
}

}  // namespace dovetail::prefetching
