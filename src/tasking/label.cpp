#include "tasking/label.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/process_mutex.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::size_t interned_limit = 65536;
constexpr std::size_t cache_size = 256;

// A label and its texts in one allocation.
const Label* make_label(std::string_view text, std::string_view accesses = {}) {
  void* memory = ::operator new(sizeof(Label) + text.size() + 1 + accesses.size());
  char* const copy = static_cast<char*>(memory) + sizeof(Label);
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  char* const behind = copy + text.size() + 1;
  std::copy(accesses.begin(), accesses.end(), behind);
  return new (memory) Label{{copy, text.size()}, {behind, accesses.size()}};
}

struct Table {
  base::ProcessMutex mutex;
  std::unordered_map<std::string_view, const Label*> labels GUARDED_BY(mutex);
};

// Never destroyed: labels outlive every thread that might still report.
Table& table() {
  static auto* const instance = new Table;
  return *instance;
}

// By the address of the text. Shared: labels outlive all threads, and memory of
// this size for each thread is more than a library that is loaded late may ask for.
constinit std::atomic<const Label*> cache[cache_size] = {};

}  // namespace

const Label* intern_label(std::string_view text, bool& own) {
  own = false;
  // Most labels are literals, seen again at the same address; the text is compared because a buffer can be reused.
  std::atomic<const Label*>& entry = cache[(reinterpret_cast<std::uintptr_t>(text.data()) >> 3) % cache_size];
  const Label* const cached = entry.load(std::memory_order_acquire);  // pairs with the stores below
  if (cached != nullptr && cached->text == text) {
    return cached;
  }
  Table& all = table();
  const base::LockGuard lock(all.mutex);
  const auto found = all.labels.find(text);
  if (found != all.labels.end()) {
    entry.store(found->second, std::memory_order_release);
    return found->second;
  }
  const Label* label = make_label(text);
  if (all.labels.size() >= interned_limit) {
    own = true;
    return label;
  }
  all.labels.emplace(label->text, label);
  entry.store(label, std::memory_order_release);
  return label;
}

const Label* label_with_accesses(std::string_view text, std::string_view accesses) {
  return make_label(text, accesses);
}

namespace {
// Between reports, which read labels, and tasks that free their own.
base::ProcessMutex& held() {
  alignas(base::ProcessMutex) static std::array<std::byte, sizeof(base::ProcessMutex)>
      place;  // a report may find no memory
  static auto* const instance = new (place.data()) base::ProcessMutex;
  return *instance;
}
}  // namespace

void free_label(const Label* label) noexcept {
  {
    const base::LockGuard lock(held());
  }  // the task is marked as free: a report that begins now does not look at it
  ::operator delete(const_cast<Label*>(label));
}

LabelsHeld::LabelsHeld() noexcept { held().lock(); }
LabelsHeld::~LabelsHeld() { held().unlock(); }

const Label* unnamed_label() noexcept {
  static const Label label{"unnamed task", {}};
  return &label;
}

}  // namespace dovetail::tasking
