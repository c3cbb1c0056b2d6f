#include "open_files.hpp"

#include <atomic>
#include <filesystem>
#include <list>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/mutex.hpp"
#include "failures.hpp"

namespace dovetail::interpose::mpiio {
namespace {

struct Deferred {
  std::shared_ptr<RankFile> file;
  const FileRule* rule;
};

// Never destroyed: a program may end while other threads make calls.
struct Files {
  base::SharedMutex mutex;
  std::unordered_map<MPI_File, std::shared_ptr<RankFile>> staged GUARDED_BY(mutex);
  std::list<Deferred> deferred GUARDED_BY(mutex);
};
Files& files() {
  static auto* const all = new Files;
  return *all;
}
constinit std::atomic<std::size_t> staged_count{0};

template <class Condition>
std::string finish_deferred_if(const Condition& condition) {
  std::list<Deferred> ended;
  {
    Files& all = files();
    const base::LockGuard lock(all.mutex);
    for (auto at = all.deferred.begin(); at != all.deferred.end();) {
      const auto next = std::next(at);
      if (condition(*at)) {
        ended.splice(ended.end(), all.deferred, at);
      }
      at = next;
    }
  }
  std::string first;
  for (const Deferred& each : ended) {
    if (const staging::FileFailure failure = without_exceptions("drain", [&] { return each.file->finish(); })) {
      const std::string text = text_of_drain(failure, each.file->path(), each.file->folder());
      tell(text);
      first = first.empty() ? text : first;
    }
  }
  return first;
}

}  // namespace

std::shared_ptr<RankFile> find_file(MPI_File handle) {
  if (staged_count.load(std::memory_order_relaxed) == 0) [[likely]] {
    return nullptr;
  }
  Files& all = files();
  const base::SharedLock lock(all.mutex);
  const auto found = all.staged.find(handle);
  return found == all.staged.end() ? nullptr : found->second;
}

std::shared_ptr<RankFile> find_staged(MPI_File handle) {
  std::shared_ptr<RankFile> file = find_file(handle);
  return file != nullptr && file->is_written_through() ? nullptr : file;
}

void add_file(MPI_File handle, std::shared_ptr<RankFile> file) {
  Files& all = files();
  const base::LockGuard lock(all.mutex);
  all.staged[handle] = std::move(file);
  staged_count.store(all.staged.size(), std::memory_order_relaxed);
}

std::shared_ptr<RankFile> remove_file(MPI_File handle) {
  if (find_file(handle) == nullptr) {
    return nullptr;
  }
  Files& all = files();
  const base::LockGuard lock(all.mutex);
  const auto found = all.staged.find(handle);
  std::shared_ptr<RankFile> file = std::move(found->second);
  all.staged.erase(found);
  staged_count.store(all.staged.size(), std::memory_order_relaxed);
  return file;
}

void defer(std::shared_ptr<RankFile> file, const FileRule* rule) {
  file->close_in_background();
  Files& all = files();
  const base::LockGuard lock(all.mutex);
  all.deferred.push_back({std::move(file), rule});
}

std::string finish_deferred(const FileRule* rule, const std::string& name) {
  {
    Files& all = files();
    const base::SharedLock lock(all.mutex);
    if (all.deferred.empty()) {
      return {};
    }
  }
  std::error_code error;
  const std::string path = std::filesystem::canonical(name, error);
  return finish_deferred_if([&](const Deferred& each) {
    return (rule != nullptr && each.rule == rule) || (!path.empty() && each.file->path() == path);
  });
}

std::string finish_all_deferred() {
  return finish_deferred_if([](const Deferred&) { return true; });
}

}  // namespace dovetail::interpose::mpiio
