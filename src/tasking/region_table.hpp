// The accesses of one domain to one space, found by region. See docs/design/dependencies.md.
//
// Regions that lie on grids (one length and one phase each, with bounds that do not meet) cannot overlap partially. So an exact match
// is enough, and a hash finds it. The first region that fits no grid turns the table into an ordered index of intervals,
// which is correct for all and slower.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dovetail/access.hpp"
#include "tasking/dependency_node.hpp"

namespace dovetail::tasking {

class Exclusion;

/// The accesses to a region since the last one that everything else had to wait for.
struct RegionHistory {
  AccessRecord* writers = nullptr;    ///< The last writer, or all members of the last group of commutative accesses.
  AccessRecord* readers = nullptr;    ///< Since `writers`; each waits for all of them.
  AccessRecord* commuters = nullptr;  ///< Since `readers`; each waits for those, or for `writers` if there are none.
  Exclusion* exclusion = nullptr;     ///< Of the commuters.
  std::uint16_t entered = 0;          ///< Members that joined a group since closed ones were last looked for.
  std::uint8_t prune_shift = 6;       ///< Look again when `entered` reaches two to this power.
};

class RegionTable {
 public:
  RegionTable();
  ~RegionTable();
  RegionTable(const RegionTable&) = delete;
  RegionTable& operator=(const RegionTable&) = delete;

  /// The place where `enter` looks for the region first. Until the table is cleared: to enter others may move the region, but there
  /// is such a place. Starts to fetch what `enter` will need, so that the waiting for several regions overlaps.
  std::size_t look_up(const Region& region) const noexcept {
    if (general_) {
      return 0;
    }
    const std::size_t place = place_of(region.begin);
    const Slot& slot = slots_[place];
    __builtin_prefetch(slot.writers, 1);
    __builtin_prefetch(slot.readers, 1);
    return place;
  }

  /// Enters one access: links `record` behind the accesses it has to wait for. Returns how many dependencies that adds. For a
  /// commutative access `exclusion` receives what its task must hold; the reference stays the table's until its task takes one.
  /// `place` is what `look_up` gave for the region.
  std::uint32_t enter(const Region& region, std::size_t place, AccessRecord* record, Exclusion*& exclusion);

  /// Forgets everything. All tasks of the domain have completed.
  void clear() noexcept;

  /// Whether exact matching was not enough so far. For tests.
  bool general() const noexcept { return general_; }
  std::size_t size() const noexcept { return general_ ? intervals_.size() : used_; }

 private:
  struct Slot {
    std::uint64_t key = 0;  ///< begin + 1; 0 marks an empty slot.
    AccessRecord* writers = nullptr;
    AccessRecord* readers = nullptr;
    // The parts of a history that few regions need lie elsewhere; this is where, plus one.
    std::uint32_t rest = 0;
    std::uint16_t entered = 0;
    std::uint8_t prune_shift = 6;
    std::uint8_t grid = 0;
  };
  static_assert(sizeof(void*) != 8 || sizeof(Slot) == 32);
  struct Grid {
    std::uint64_t length;
    std::uint64_t phase;
    std::uint64_t lowest;   ///< Begin of the first region seen.
    std::uint64_t highest;  ///< End of the last region seen.
  };
  struct Interval {
    std::uint64_t length = 0;
    RegionHistory history;
  };
  // Ordered by size class first: the regions of one class that can overlap a given one lie together.
  using IntervalKey = std::pair<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>>;

  // Fibonacci hashing: strides of a power of two spread as well as any other.
  static constexpr std::uint64_t hash_factor = 0x9E3779B97F4A7C15ULL;
  // Regions that follow each other in memory often follow each other in time: as many as this lie together in the table.
  static constexpr std::uint64_t neighbours = 8;
  static constexpr unsigned longest_unit = 63;

  void set_slots(std::unique_ptr<Slot[]> slots, std::size_t size) noexcept;
  std::size_t place_of(std::uint64_t begin) const noexcept {
    const std::uint64_t position = begin >> unit_;
    const std::uint64_t hash = (position / neighbours) * hash_factor;
    // Which of the neighbours comes first differs from place to place, lest long strides meet all in the same one.
    return (hash >> shift_) * neighbours + ((position ^ (hash >> 32)) % neighbours);
  }
  Slot* find_slot(const Region& region, std::size_t place);
  Slot* find_or_make_slot(const Region& region);
  std::optional<std::uint8_t> grid_of(const Region& region);
  bool bounds_are_free(std::uint64_t lowest, std::uint64_t highest, std::size_t except) const;
  Slot& place_for(std::uint64_t key) const;
  std::uint32_t enter_slot(Slot& slot, AccessRecord* record, Exclusion*& exclusion);
  std::uint32_t enter_slot_with_rest(Slot& slot, AccessRecord* record, Exclusion*& exclusion);
  RegionHistory take_history(const Slot& slot);
  void put_history(Slot& slot, const RegionHistory& history);
  void grow();
  void become_general();
  std::uint32_t enter_general(const Region& region, AccessRecord* record, Exclusion*& exclusion);
  void sweep_intervals();

  bool general_ = false;
  std::vector<Grid> grids_;
  std::uint8_t last_grid_ = 0;
  std::unique_ptr<Slot[]> slots_;
  std::size_t mask_ = 0;
  unsigned shift_ = 0;
  unsigned unit_ = longest_unit;  ///< Logarithm of the shortest length seen, rounded down.
  std::size_t used_ = 0;
  std::vector<RegionHistory> histories_;
  std::vector<std::uint32_t> free_histories_;
  std::map<IntervalKey, Interval> intervals_;
  std::uint64_t size_classes_ = 0;  ///< Bit n: there is an interval of length [2^n, 2^(n+1)).
  std::size_t sweep_at_ = 1024;
};

}  // namespace dovetail::tasking
