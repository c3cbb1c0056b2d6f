// The notifications of one segment: which have come and were not taken, and what waits for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "comm/rma/await.hpp"

namespace dovetail::comm::rma {

/// A word for each identifier, which holds a value, or the wait for it: what comes is found without a search, however many wait. Not
/// thread-safe.
class Notifications {
 public:
  /// @throws std::bad_alloc
  explicit Notifications(std::uint32_t count) : words_(count) {}

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(words_.size()); }
  /// Takes what has come of the wait's range, and enters the wait for the rest. @returns Whether it has ended.
  /// @throws std::logic_error if something else waits for one of these; nothing has changed then.
  bool await(Await& await);
  /// Whether what has come ends the wait. False if something else waits for one of these: `await` refuses that.
  bool has_come(const Await& await) const noexcept;
  /// One has come. A value that was not taken is replaced, as in GASPI. @returns The wait that has ended by it, or null.
  Await* arrive(std::uint32_t id, std::uint32_t value) noexcept;
  /// Takes one that has come, if it has.
  std::optional<std::uint32_t> take(std::uint32_t id) noexcept;
  /// The wait is entered nowhere any more.
  void forget(const Await& await) noexcept;
  /// Calls `visit` with each wait; more than once if it is for several that are not neighbours.
  template <class Visit>
  void for_each(Visit&& visit) const {
    const Await* last = nullptr;
    for (const std::uintptr_t word : words_) {
      Await* const waiting = await_in(word);
      if (waiting != nullptr && waiting != last) {
        last = waiting;
        visit(*waiting);
      }
    }
  }

 private:
  // A value is kept with its lowest bit set, a wait by its address, which is even. 0: neither.
  static std::uintptr_t word_of(std::uint32_t value) noexcept { return std::uintptr_t{value} << 1 | 1; }
  static Await* await_in(std::uintptr_t word) noexcept {
    return (word & 1) == 0 ? reinterpret_cast<Await*>(word) : nullptr;  // NOLINT(performance-no-int-to-ptr)
  }
  static bool holds_value(std::uintptr_t word) noexcept { return (word & 1) != 0; }

  std::vector<std::uintptr_t> words_;
};

}  // namespace dovetail::comm::rma
