#include "advisor.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "open_file.hpp"
#include "prefetch/follower.hpp"
#include "prefetch/plan_advice.hpp"

namespace dovetail::observer {
namespace {

using prefetching::FilePlan;
using prefetching::Followed;

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
  const int descriptor = files_.size() >= most_files() ? -1 : open_regular(path, status);
  if (descriptor < 0) {
    const FilePlan plan = plan_.file(number);
    if (plan.count != 0) {
      plan.progress->given_up.store(prefetching::cannot_be_opened, std::memory_order_relaxed);
    }
    return;
  }
  if (fstat(descriptor, &status) != 0 || plan_.find(identity_of(status)) != number) {
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
    prefetching::give_plan(plan, OpenFile{found->second.descriptor, plan.piece, plan.progress->asked, stop});
  }
  if (is_over(plan)) {
    close(found->second.descriptor);
    files_.erase(found);
    return false;
  }
  return true;
}

}  // namespace dovetail::observer
