// Names as small numbers, so that an event has a fixed size and outlives the text it was given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"

namespace dovetail::trace {

/// The names of one recording. Any thread may call any function.
class Names {
 public:
  /// @param limit Most names. The last number is shared by all names that come after the table has filled.
  explicit Names(std::size_t limit);

  /// The number of a name, equal for equal text. 0 is the empty name. Takes a lock.
  std::uint32_t number(std::string_view name) noexcept;
  /// Forgets all names.
  void clear();
  /// A copy of all names, for `name_at`.
  std::vector<std::string> all() const;

  /// Around a fork.
  void lock() ACQUIRE(mutex_) { mutex_.lock(); }
  void unlock() RELEASE(mutex_) { mutex_.unlock(); }

 private:
  void clear_locked() REQUIRES(mutex_);

  const std::size_t limit_;
  mutable base::Mutex mutex_;
  std::deque<std::string> names_ GUARDED_BY(mutex_);
  std::unordered_map<std::string_view, std::uint32_t> numbers_ GUARDED_BY(mutex_);
};

/// The name of that number, in what `Names::all` gave; or what stands for all names that found the table full.
std::string_view name_at(const std::vector<std::string>& names, std::uint32_t number) noexcept;

/// What a thread remembers of `Names`, so that it takes the lock once for each name and not once for each event. It
/// compares whole texts and keeps copies of them: neither the caller's text nor the table need to stay.
class NameCache {
 public:
  std::uint32_t number(Names& names, std::string_view name) noexcept {
    if (name.empty()) return 0;
    Entry& entry = entries_[slot_of(name)];
    if (name.size() == entry.size && std::memcmp(name.data(), entry.text.data(), name.size()) == 0) return entry.number;
    return ask(names, name, entry);
  }
  void clear() noexcept;

 private:
  static constexpr std::size_t longest = 120;
  static constexpr std::size_t slots = 64;
  struct Entry {
    std::uint32_t number;
    std::uint32_t size;
    std::array<char, longest> text;
  };
  static_assert(sizeof(Entry) == 128);

  static std::size_t slot_of(std::string_view name) noexcept {
    // The ends of a name tell names apart well enough ("block 12"), at a cost that does not depend on its length.
    // Copies of a fixed length are single loads.
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    const char* const begin = name.data();
    const char* const end = begin + name.size();
    if (name.size() >= 8) {
      std::memcpy(&first, begin, 8);
      std::memcpy(&last, end - 8, 8);
    } else if (name.size() >= 4) {
      std::memcpy(&first, begin, 4);
      std::memcpy(&last, end - 4, 4);
    } else {
      std::memcpy(&first, begin, 1);
      std::memcpy(&last, end - 1, 1);
    }
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15U;
    const std::uint64_t mixed = (first * odd) ^ ((last + name.size()) * (odd << 1 | 1));
    return static_cast<std::size_t>((mixed * odd) >> 58);
  }
  static_assert(slots == std::size_t{1} << (64 - 58));

  static std::uint32_t ask(Names& names, std::string_view name, Entry& entry) noexcept;

  std::array<Entry, slots> entries_{};
};

}  // namespace dovetail::trace
