#include "prefetch/pending_reads.hpp"

#include <algorithm>
#include <limits>

namespace dovetail::prefetching {
namespace {

constexpr unsigned most_looked_at = 256;
constexpr std::uint32_t left_to_itself = std::numeric_limits<std::uint32_t>::max();

}  // namespace

bool PendingReads::wait_for_writers(const std::shared_ptr<PendingTask>& task) {
  unsigned looked_at = 0;
  for (const FilePart& part : task->reads) {
    const auto file = written_.find(part.space);
    if (file == written_.end()) {
      continue;
    }
    const std::uint64_t before = std::min(part.range.offset, file->second.longest);
    for (auto entry = file->second.last.lower_bound({part.range.offset - before, 0});
         entry != file->second.last.end() && entry->first.first < part.range.end(); ++entry) {
      if (++looked_at > most_looked_at) {
        return false;
      }
      if (entry->first.second > part.range.offset) {
        entry->second->readers.push_back(task);
        ++task->writers;
      }
    }
  }
  return true;
}

void PendingReads::enter(const std::shared_ptr<PendingTask>& task) {
  task->number = next_number_++;
  for (const FilePart& part : task->reads) {
    task->bytes += part.range.length;
  }
  if (!wait_for_writers(task)) {
    task->writers = left_to_itself;
  }
  for (const FilePart& part : task->writes) {
    Written& file = written_[part.space];
    file.last[{part.range.offset, part.range.end()}] = task.get();
    file.longest = std::max<std::uint64_t>(file.longest, part.range.length);
  }
  if (task->writers == 0 && task->bytes != 0) {
    due_.emplace(task->number, task);
  }
}

void PendingReads::begins(PendingTask& task) noexcept {
  if (task.begun) {
    return;
  }
  task.begun = true;
  if (task.taken) {
    ahead_ -= task.bytes;
  } else {
    due_.erase(task.number);
  }
}

void PendingReads::ends(PendingTask& task) noexcept {
  begins(task);
  for (const FilePart& part : task.writes) {
    const auto file = written_.find(part.space);
    if (file == written_.end()) {
      continue;
    }
    const auto entry = file->second.last.find({part.range.offset, part.range.end()});
    if (entry != file->second.last.end() && entry->second == &task) {
      file->second.last.erase(entry);
      if (file->second.last.empty()) {
        written_.erase(file);
      }
    }
  }
  for (const std::shared_ptr<PendingTask>& reader : std::exchange(task.readers, {})) {
    if (reader->writers == left_to_itself) {
      continue;
    }
    --reader->writers;
    if (reader->writers == 0 && !reader->begun) {
      try {
        due_.emplace(reader->number, reader);
      } catch (const std::bad_alloc&) {
        reader->writers = left_to_itself;  // it is read when it asks
      }
    }
  }
}

std::shared_ptr<PendingTask> PendingReads::take(std::uint64_t window,
                                                const std::function<bool(const PendingTask&)>& leave) {
  // One that never fits must not keep back the others: it is left to itself.
  while (!due_.empty() && (due_.begin()->second->bytes > window || (leave && leave(*due_.begin()->second)))) {
    due_.erase(due_.begin());
  }
  const auto first = due_.begin();
  full_ = first != due_.end() && !fits(*first->second, window);
  if (first == due_.end() || full_) {
    return nullptr;
  }
  std::shared_ptr<PendingTask> task = std::move(first->second);
  due_.erase(first);
  task->taken = true;
  ahead_ += task->bytes;
  return task;
}

bool PendingReads::is_due(std::uint64_t window) const noexcept {
  return !due_.empty() && fits(*due_.begin()->second, window) && (!full_ || ahead_ <= window - window / 8);
}

// One that never fits does so, too: it is due to be left to itself.
bool PendingReads::fits(const PendingTask& task, std::uint64_t window) const noexcept {
  return task.bytes > window || task.bytes <= window - std::min(window, ahead_);
}

}  // namespace dovetail::prefetching
