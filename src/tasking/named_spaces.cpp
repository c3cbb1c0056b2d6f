#include "tasking/named_spaces.hpp"

#include <array>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <unordered_map>

#include "base/process_mutex.hpp"
#include "trace/access_text.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

struct Spaces {
  base::ProcessMutex mutex;
  std::unordered_map<std::uint64_t, const NamedSpace*> by_number GUARDED_BY(mutex);
  std::uint64_t made GUARDED_BY(mutex) = 0;
};

// Never destroyed: a space may be dropped at the very end of the process.
Spaces& spaces() {
  static auto* const instance = new Spaces;
  return *instance;
}

std::uint64_t number_for(const NamedSpace* space) {
  Spaces& all = spaces();
  const base::LockGuard lock(all.mutex);
  const std::uint64_t number = (named_space_mark << 32) | (all.made++ & 0xffff'ffffU);
  all.by_number[number] = space;
  return number;
}

// Empty if no space has that number.
std::string name_of(std::uint64_t number) {
  Spaces& all = spaces();
  const base::LockGuard lock(all.mutex);
  const auto found = all.by_number.find(number);
  return found != all.by_number.end() ? found->second->name : std::string();
}

const char* text_of(AccessMode mode) noexcept {
  switch (mode) {
    case AccessMode::in:
      return "in";
    case AccessMode::out:
      return "out";
    case AccessMode::inout:
      return "inout";
    case AccessMode::commutative:
      return "commutative";
  }
  return "?";
}

}  // namespace

NamedSpace::NamedSpace(std::string_view given) : name(given), number(number_for(this)) {}

NamedSpace::~NamedSpace() {
  Spaces& all = spaces();
  const base::LockGuard lock(all.mutex);
  all.by_number.erase(number);
}

std::string record_named_accesses(std::uint64_t task, const AccessList& accesses) {
  std::string text;
  for (const Access& access : accesses) {
    const Region& region = access.region;
    const std::string name = may_be_named(region.space) ? name_of(region.space) : std::string();
    if (name.empty()) {
      continue;
    }
    const char* const mode = text_of(access.mode);
    trace::accessed(task, mode, name, region.begin, region.length);
    trace::append_access(text, mode, name, region.begin, region.length);
  }
  return text;
}

void record_accesses(std::uint64_t task, const AccessList& accesses) noexcept {
  for (const Access& access : accesses) {
    const Region& region = access.region;
    if (may_be_named(region.space) || region.length == 0) {
      continue;
    }
    std::array<char, 32> file{};
    std::snprintf(file.data(), file.size(), "file %llx", static_cast<unsigned long long>(region.space));
    trace::accessed(task, text_of(access.mode), region.space == 0 ? "memory" : file.data(), region.begin,
                    region.length);
  }
}

}  // namespace dovetail::tasking

namespace dovetail {
namespace {

const tasking::NamedSpace& require_made(const std::shared_ptr<const tasking::NamedSpace>& space) {
  if (space == nullptr) {
    throw std::logic_error("this Space is none: use Space::make");
  }
  return *space;
}

}  // namespace

Space Space::make(std::string_view name) { return Space(std::make_shared<const tasking::NamedSpace>(name)); }
const std::string& Space::name() const { return require_made(made_).name; }
std::uint64_t Space::number() const { return require_made(made_).number; }

}  // namespace dovetail
