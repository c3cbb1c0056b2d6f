#include "trace/names.hpp"

#include <new>

namespace dovetail::trace {

Names::Names(std::size_t limit) : limit_(limit) { clear_locked(); }

std::string_view name_at(const std::vector<std::string>& names, std::uint32_t number) noexcept {
  return number < names.size() ? std::string_view(names[number]) : std::string_view("(too many names)");
}

void Names::clear_locked() {
  numbers_.clear();
  names_.clear();
  names_.emplace_back();
}

void Names::clear() {
  const base::LockGuard lock(mutex_);
  clear_locked();
}

std::uint32_t Names::number(std::string_view name) noexcept {
  const base::LockGuard lock(mutex_);
  const auto shared = static_cast<std::uint32_t>(limit_ - 1);
  if (name.empty()) return 0;
  try {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    if (names_.size() + 1 >= limit_) return shared;
    const auto number = static_cast<std::uint32_t>(names_.size());
    const std::string& copy = names_.emplace_back(name);
    try {
      numbers_.emplace(copy, number);
    } catch (const std::bad_alloc&) {
      names_.pop_back();
      throw;
    }
    return number;
  } catch (const std::bad_alloc&) {
    return shared;
  }
}

std::vector<std::string> Names::all() const {
  const base::LockGuard lock(mutex_);
  return {names_.begin(), names_.end()};
}

std::uint32_t NameCache::ask(Names& names, std::string_view name, Entry& entry) noexcept {
  const std::uint32_t number = names.number(name);
  if (name.size() <= longest) {
    entry.number = number;
    entry.size = static_cast<std::uint32_t>(name.size());
    std::memcpy(entry.text.data(), name.data(), name.size());
  }
  return number;
}

void NameCache::clear() noexcept {
  for (Entry& entry : entries_) entry.size = 0;
}

}  // namespace dovetail::trace
