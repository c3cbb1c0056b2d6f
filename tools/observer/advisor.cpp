#include "advisor.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "prefetch/follower.hpp"
#include "prefetch/page_cache.hpp"
#include "prefetch/plan_advice.hpp"

namespace dovetail::observer {
namespace {

using prefetching::FileIdentity;
using prefetching::FilePlan;
using prefetching::Followed;
using prefetching::Range;

/// An open file, as `give_plan` wants it.
struct System {
  int descriptor;
  const FilePlan& plan;
  const std::function<bool()>& stop;

  std::int64_t cached_pages(const Range& range) const noexcept {
    return prefetching::cached_pages(descriptor, range, syscall);
  }
  bool has_the_file() const noexcept { return true; }
  bool will_need(const Range& range) const {
    return prefetching::in_pieces(range, plan.piece, [this](const Range& part) {
      if (stop()) {
        return false;
      }
      const auto bytes = static_cast<off_t>(part.end - part.offset);
      posix_fadvise(descriptor, static_cast<off_t>(part.offset), bytes, POSIX_FADV_WILLNEED);
      plan.progress->asked.fetch_add(part.end - part.offset, std::memory_order_relaxed);
      return true;
    });
  }
};

FileIdentity identity_of(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          static_cast<std::uint64_t>(status.st_mtim.tv_sec), static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
}

// Some descriptors are left for the kernel's events.
std::size_t most_files() noexcept {
  constexpr std::size_t others = 64;
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return !known || limit.rlim_cur <= 2 * others ? others : static_cast<std::size_t>(limit.rlim_cur) - others;
}

}  // namespace

Advisor::Advisor(std::byte* memory, std::uint64_t bytes, std::string_view paths)
    : plan_(prefetching::Plan::in(memory, bytes)), page_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
  if (plan_.files() == 0) {
    throw std::runtime_error("the memory is no plan");
  }
  while (paths.find('\0') != std::string_view::npos) {
    open(paths.data());
    paths.remove_prefix(std::strlen(paths.data()) + 1);
  }
}

Advisor::~Advisor() {
  for (const auto& [key, file] : files_) {
    close(file.descriptor);
  }
}

void Advisor::open(const char* path) {
  struct stat status{};
  // Opening something else may have effects.
  const bool is_file = stat(path, &status) == 0 && S_ISREG(status.st_mode);
  const std::uint32_t number = is_file ? plan_.find(identity_of(status)) : plan_.files();
  if (number == plan_.files()) {
    return;
  }
  struct statfs file_system{};
  // Where a file that another process has open cannot be removed as usual, the program would notice.
  const bool is_left =
      files_.size() >= most_files() || statfs(path, &file_system) != 0 || file_system.f_type == NFS_SUPER_MAGIC;
  const int descriptor = is_left ? -1 : ::open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) {
    const FilePlan plan = plan_.file(number);
    if (plan.count != 0) {
      plan.progress->given_up.store(prefetching::cannot_be_opened, std::memory_order_relaxed);
    }
    return;
  }
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || plan_.find(identity_of(status)) != number) {
    close(descriptor);
    return;
  }
  const page_file key = file_systems_.file_of(descriptor, status);
  if (!files_.try_emplace({key.device, key.inode}, Opened{descriptor, number}).second) {
    close(descriptor);
  }
}

std::vector<page_file> Advisor::files() const {
  std::vector<page_file> found;
  found.reserve(files_.size());
  for (const auto& [key, file] : files_) {
    found.push_back({key.first, key.second});
  }
  return found;
}

bool Advisor::note(const page_event& event, const std::function<bool()>& stop) {
  const auto found = files_.find({event.file.device, event.file.inode});
  if (event.kind != page_event_read || found == files_.end() || event.last < event.first) {
    return false;
  }
  const FilePlan plan = plan_.file(found->second.number);
  const std::uint64_t bytes = (event.last - event.first + 1) * page_;
  if (plan_.timed()) {
    count_read(plan, bytes, event.ended - event.begun);
  }
  if (follow(plan, event.first * page_, bytes) == Followed::wants) {
    prefetching::give_plan(plan, System{found->second.descriptor, plan, stop});
  }
  if (is_over(plan)) {
    close(found->second.descriptor);
    files_.erase(found);
    return false;
  }
  return true;
}

}  // namespace dovetail::observer
