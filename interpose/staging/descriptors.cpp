#include "descriptors.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <utility>

#include "base/mutex.hpp"
#include "program_files.hpp"
#include "tell.hpp"
#include "within.hpp"

namespace dovetail::interpose::staged {
namespace {

struct Table {
  base::SharedMutex mutex;
  std::unordered_map<int, DescriptionPointer> descriptions GUARDED_BY(mutex);
};
constinit std::atomic<Table*> table{nullptr};
constinit std::atomic<pid_t> process{0};
constinit std::atomic<int> highest{-1};
constinit std::atomic<bool> has_stream[most_descriptors] = {true, true, true};

int take_out(int descriptor) noexcept {
  const HeldSignals held;
  DescriptionPointer removed;
  {
    Table& all = *table.load();
    const base::LockGuard lock(all.mutex);
    const auto found = all.descriptions.find(descriptor);
    if (found == all.descriptions.end()) {
      return 0;
    }
    removed = std::move(found->second);
    all.descriptions.erase(found);
    has_description[descriptor].store(false, std::memory_order_release);
  }
  const KeptErrno kept;
  return close_file(removed->file);
}

}  // namespace

constinit std::atomic<bool> has_description[most_descriptors];

bool is_own_process() noexcept { return process.load(std::memory_order_relaxed) == ::getpid(); }

void begin_process() noexcept {
  // Not by the table: a thread of the parent may have been changing it.
  for (int descriptor = 0; descriptor <= highest; ++descriptor) {
    has_description[descriptor].store(false, std::memory_order_relaxed);
  }
  highest = -1;
  table = new Table;
  process = ::getpid();
}

DescriptionInUse find_description(int descriptor) noexcept {
  if (Within::is_now() || !is_own_process()) {
    return {};
  }
  const HeldSignals held;
  Table& all = *table.load();
  const base::SharedLock lock(all.mutex);
  const auto found = all.descriptions.find(descriptor);
  return DescriptionInUse(found == all.descriptions.end() ? nullptr : found->second);
}

void add_description(int descriptor, DescriptionPointer description) {
  const HeldSignals held;
  take_out(descriptor);
  if (descriptor >= most_descriptors) {
    description->file->give_up("it has a descriptor with a very high number");
    close_file(description->file);
    return;
  }
  if (has_stream[descriptor]) {
    description->file->give_up("a stream has its descriptor");
  }
  Table& all = *table.load();
  const base::LockGuard lock(all.mutex);
  all.descriptions[descriptor] = std::move(description);
  highest = std::max(highest.load(), descriptor);
  has_description[descriptor].store(true, std::memory_order_release);
}

void copy_description(int from, int to) noexcept {
  if (from == to) {
    return;
  }
  remove_description(to);
  const DescriptionInUse description = description_of(from);
  if (description == nullptr || to < 0) {
    return;
  }
  open_again(*description->file);
  try {
    add_description(to, description.pointer());
  } catch (const std::exception&) {
    description->file->give_up("there is no memory for a copy of its descriptor");
    close_file(description->file);
  }
}

int remove_description(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) >= most_descriptors || !has_description[descriptor] || Within::is_now() ||
      !is_own_process()) {
    return 0;
  }
  return take_out(descriptor);
}

void note_stream(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) < most_descriptors) {
    has_stream[descriptor] = true;
  }
}

void forget_stream(int descriptor) noexcept {
  if (static_cast<unsigned>(descriptor) < most_descriptors) {
    has_stream[descriptor] = false;
  }
}

void remove_descriptions(unsigned first, unsigned last) noexcept {
  for (unsigned number = first; number < most_descriptors && number <= last; ++number) {
    remove_description(static_cast<int>(number));
  }
}

}  // namespace dovetail::interpose::staged
