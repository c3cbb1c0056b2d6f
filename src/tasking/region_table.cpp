#include "tasking/region_table.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "base/make_room.hpp"
#include "tasking/exclusion.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::size_t most_grids = 8;
constexpr std::size_t first_slots = 64;

std::uint64_t end_of(const Region& region) noexcept {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - region.begin;
  return region.begin + std::min(region.length, room);
}

void drop_group(AccessRecord*& group) noexcept {
  for (AccessRecord* record = group; record != nullptr;) {
    AccessRecord* next = record->next_in_group;
    record->drop();
    record = next;
  }
  group = nullptr;
}

// Lets go of the members that have completed and have nothing to tell. Returns how many are left.
std::uint32_t prune_group(AccessRecord*& group) noexcept {
  std::uint32_t left = 0;
  for (AccessRecord** link = &group; *link != nullptr;) {
    AccessRecord* record = *link;
    if (record->is_closed_and_good()) {
      *link = record->next_in_group;
      record->drop();
    } else {
      link = &record->next_in_group;
      ++left;
    }
  }
  return left;
}

void drop_exclusion(RegionHistory& history) noexcept {
  if (history.exclusion != nullptr) {
    history.exclusion->release();
    history.exclusion = nullptr;
  }
}

void drop_history(RegionHistory& history) noexcept {
  drop_group(history.writers);
  drop_group(history.readers);
  drop_group(history.commuters);
  drop_exclusion(history);
}

// Whether anything is left that a later access could depend on.
bool prune_history(RegionHistory& history) noexcept {
  const std::uint32_t left =
      prune_group(history.writers) + prune_group(history.readers) + prune_group(history.commuters);
  return left > 0;
}

std::uint32_t precede_all(AccessRecord* group, AccessRecord* record, bool drop) {
  std::uint32_t dependencies = 0;
  while (group != nullptr) {
    AccessRecord* next = group->next_in_group;
    dependencies += group->precede(record, drop);
    group = next;
  }
  return dependencies;
}

// Readers that have completed and been let go no longer say that what they read was bad; their writers do.
void inherit_bad(AccessRecord* writers, AccessRecord* record) noexcept {
  for (; writers != nullptr; writers = writers->next_in_group) {
    if (record->reads() && writers->is_closed_and_bad()) {
      poison(record, writers->node().failure());
    }
  }
}

// The accesses that a new one waits for in this history. The groups are looked at from the youngest, which waits for the
// older ones.
std::uint32_t follow(const RegionHistory& history, AccessRecord* record) {
  if (history.commuters != nullptr) {
    return precede_all(history.commuters, record, false);
  }
  if (history.readers != nullptr && record->mode != AccessMode::in) {
    inherit_bad(history.writers, record);
    return precede_all(history.readers, record, false);
  }
  return precede_all(history.writers, record, false);
}

// `History` is a slot or a whole history.
template <class History>
void join(AccessRecord*& group, AccessRecord* record, History& history) {
  // The youngest member often has closed by now: its memory is used again while it is in the cache.
  if (group != nullptr && group->is_closed_and_good()) {
    std::exchange(group, group->next_in_group)->drop();
  }
  record->next_in_group = group;
  group = record;
  if (++history.entered >= 1U << history.prune_shift) {
    // Not again before as many have joined as are left now, so that looking costs a constant per access.
    const std::uint32_t left = prune_group(group);
    history.entered = 0;
    history.prune_shift =
        static_cast<std::uint8_t>(std::clamp<unsigned>(static_cast<unsigned>(std::bit_width(left)), 6, 15));
  }
}

template <class History>
std::uint32_t add_reader(History& history, AccessRecord* record) {
  if (history.writers != nullptr && &history.writers->node() == &record->node()) {
    record->drop();  // the task writes the region too: that is what successors wait for
    return 0;
  }
  if (history.writers != nullptr && history.writers->next_in_group == nullptr &&
      history.writers->is_closed_and_good()) {
    std::exchange(history.writers, nullptr)->drop();
  }
  const std::uint32_t dependencies = precede_all(history.writers, record, false);
  join(history.readers, record, history);
  return dependencies;
}

template <class History>
std::uint32_t replace_writer(History& history, AccessRecord* record) {
  std::uint32_t dependencies = 0;
  if (history.readers != nullptr) {
    inherit_bad(history.writers, record);
    dependencies = precede_all(std::exchange(history.readers, nullptr), record, true);
    drop_group(history.writers);
  } else {
    dependencies = precede_all(history.writers, record, true);
  }
  history.writers = record;
  history.entered = 0;
  return dependencies;
}

// The one that a commutative access needs, unless its history `has_one`.
std::unique_ptr<Exclusion> exclusion_for(AccessMode mode, bool has_one) {
  return mode == AccessMode::commutative && !has_one ? std::make_unique<Exclusion>() : nullptr;
}

std::uint32_t enter_history(RegionHistory& history, AccessRecord* record, Exclusion*& exclusion) {
  std::uint32_t dependencies = 0;
  if (record->mode == AccessMode::in) {
    if (history.commuters != nullptr) [[unlikely]] {
      drop_group(history.writers);
      drop_group(history.readers);
      drop_exclusion(history);
      history.writers = std::exchange(history.commuters, nullptr);
    }
    dependencies = add_reader(history, record);
  } else if (record->mode == AccessMode::commutative) {
    exclusion = history.exclusion;  // the caller has seen to it
    const AccessRecord* readers = history.readers;
    if (readers != nullptr) {
      inherit_bad(history.writers, record);
    }
    dependencies = precede_all(readers != nullptr ? history.readers : history.writers, record, false);
    join(history.commuters, record, history);
  } else if (history.commuters != nullptr) [[unlikely]] {
    dependencies = precede_all(std::exchange(history.commuters, nullptr), record, true);
    drop_group(history.readers);
    drop_group(history.writers);
    drop_exclusion(history);
    history.writers = record;
    history.entered = 0;
  } else {
    drop_exclusion(history);
    dependencies = replace_writer(history, record);
  }
  return dependencies;
}

}  // namespace

RegionTable::RegionTable() { set_slots(std::make_unique<Slot[]>(first_slots), first_slots); }

void RegionTable::set_slots(std::unique_ptr<Slot[]> slots, std::size_t size) noexcept {
  slots_ = std::move(slots);
  mask_ = size - 1;
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(size / neighbours));
}

RegionTable::~RegionTable() { clear(); }

void RegionTable::clear() noexcept {
  if (!general_ && used_ > 0) {
    for (std::size_t i = 0; i <= mask_; ++i) {
      if (slots_[i].key != 0) {
        RegionHistory history = take_history(slots_[i]);
        drop_history(history);
        slots_[i] = Slot{};
      }
    }
  }
  for (auto& [key, interval] : intervals_) {
    drop_history(interval.history);
  }
  intervals_.clear();
  size_classes_ = 0;
  histories_.clear();
  free_histories_.clear();
  grids_.clear();
  last_grid_ = 0;
  unit_ = longest_unit;
  used_ = 0;
  general_ = false;
}

bool RegionTable::bounds_are_free(std::uint64_t lowest, std::uint64_t highest, std::size_t except) const {
  for (std::size_t i = 0; i < grids_.size(); ++i) {
    if (i != except && grids_[i].lowest < highest && lowest < grids_[i].highest) {
      return false;
    }
  }
  return true;
}

std::optional<std::uint8_t> RegionTable::grid_of(const Region& region) {
  const std::uint64_t end = end_of(region);
  for (std::size_t n = 0; n < grids_.size(); ++n) {
    const std::size_t i = (last_grid_ + n) % grids_.size();
    Grid& candidate = grids_[i];
    if (candidate.length != region.length || region.begin % region.length != candidate.phase) {
      continue;
    }
    const std::uint64_t lowest = std::min(candidate.lowest, region.begin);
    const std::uint64_t highest = std::max(candidate.highest, end);
    if ((lowest == candidate.lowest && highest == candidate.highest) || bounds_are_free(lowest, highest, i)) {
      candidate.lowest = lowest;
      candidate.highest = highest;
      return last_grid_ = static_cast<std::uint8_t>(i);
    }
  }
  if (grids_.size() < most_grids && bounds_are_free(region.begin, end, most_grids)) {
    grids_.push_back({region.length, region.begin % region.length, region.begin, end});
    return last_grid_ = static_cast<std::uint8_t>(grids_.size() - 1);
  }
  return std::nullopt;
}

RegionTable::Slot& RegionTable::place_for(std::uint64_t key) const {
  std::size_t index = place_of(key - 1);
  while (slots_[index].key != 0 && slots_[index].key != key) {
    // To the next ones' neighbourhood, at the same place, so that all neighbours find room there together; after the last, one on.
    index += neighbours;
    if (index > mask_) [[unlikely]] {
      index = (index + 1) & mask_;
    }
  }
  return slots_[index];
}

// Null if the region fits no grid.
RegionTable::Slot* RegionTable::find_slot(const Region& region, std::size_t place) {
  Slot& slot = slots_[place];
  if (slot.key == region.begin + 1 && slot.key != 0) [[likely]] {
    return grids_[slot.grid].length == region.length ? &slot : nullptr;
  }
  return find_or_make_slot(region);
}

RegionTable::Slot* RegionTable::find_or_make_slot(const Region& region) {
  const std::uint64_t key = region.begin + 1;
  if (key == 0) {
    return nullptr;
  }
  Slot* slot = &place_for(key);
  if (slot->key == key) {
    return grids_[slot->grid].length == region.length ? slot : nullptr;
  }
  const std::optional<std::uint8_t> grid = grid_of(region);
  if (!grid) {
    return nullptr;
  }
  const auto unit = static_cast<unsigned>(std::bit_width(region.length) - 1);
  if (2 * (used_ + 1) > mask_ + 1 || unit < unit_) {
    unit_ = std::min(unit_, unit);
    grow();
    slot = &place_for(key);
  }
  slot->key = key;
  slot->grid = *grid;
  ++used_;
  return slot;
}

RegionHistory RegionTable::take_history(const Slot& slot) {
  RegionHistory history;
  if (slot.rest != 0) {
    history = histories_[slot.rest - 1];
    free_histories_.push_back(slot.rest);
  }
  history.writers = slot.writers;
  history.readers = slot.readers;
  history.entered = slot.entered;
  history.prune_shift = slot.prune_shift;
  return history;
}

void RegionTable::put_history(Slot& slot, const RegionHistory& history) {
  slot.writers = history.writers;
  slot.readers = history.readers;
  slot.entered = history.entered;
  slot.prune_shift = history.prune_shift;
  slot.rest = 0;
  if (history.exclusion != nullptr) {
    if (free_histories_.empty()) {
      histories_.push_back({});
      free_histories_.push_back(static_cast<std::uint32_t>(histories_.size()));
    }
    slot.rest = free_histories_.back();
    free_histories_.pop_back();
    histories_[slot.rest - 1] = history;
  }
}

// Whatever throws here and below, for want of memory, does so before anything has changed.
void RegionTable::grow() {
  const std::size_t old_size = mask_ + 1;
  free_histories_.reserve(histories_.size());  // `take_history` never allocates
  auto wanted = std::make_unique<Slot[]>(old_size);
  std::unique_ptr<Slot[]> old = std::move(slots_);
  // First let go of what has completed: a program that walks over ever new addresses keeps a small table.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < old_size; ++i) {
    Slot& slot = old[i];
    if (i + 8 < old_size) {
      __builtin_prefetch(old[i + 8].writers);
      __builtin_prefetch(old[i + 8].readers);
    }
    if (slot.key == 0) {
      continue;
    }
    RegionHistory history = take_history(slot);
    if (prune_history(history)) {
      put_history(slot, history);
      ++kept;
    } else {
      drop_exclusion(history);
      slot.key = 0;
    }
  }
  std::size_t size = old_size;
  if (4 * kept > old_size) {
    if (auto* const larger = new (std::nothrow) Slot[2 * old_size]()) {
      wanted.reset(larger);
      size = 2 * old_size;
    }  // else it is half full, and tries again at the next one
  }
  set_slots(std::move(wanted), size);
  for (std::size_t i = 0; i < old_size; ++i) {
    if (old[i].key != 0) {
      place_for(old[i].key) = old[i];
    }
  }
  used_ = kept;
}

std::uint32_t RegionTable::enter_slot(Slot& slot, AccessRecord* record, Exclusion*& exclusion) {
  if (slot.rest == 0 && record->mode != AccessMode::commutative) [[likely]] {
    return record->mode == AccessMode::in ? add_reader(slot, record) : replace_writer(slot, record);
  }
  return enter_slot_with_rest(slot, record, exclusion);
}

std::uint32_t RegionTable::enter_slot_with_rest(Slot& slot, AccessRecord* record, Exclusion*& exclusion) {
  base::make_room(histories_, histories_.size() + 1);
  base::make_room(free_histories_, histories_.size() + 1);  // neither `take_history` nor `put_history` allocates
  std::unique_ptr<Exclusion> made = exclusion_for(record->mode, slot.rest != 0);
  RegionHistory history = take_history(slot);
  if (made != nullptr && history.exclusion == nullptr) {
    history.exclusion = made.release();
  }
  const std::uint32_t dependencies = enter_history(history, record, exclusion);
  put_history(slot, history);
  return dependencies;
}

std::uint32_t RegionTable::enter(const Region& region, std::size_t place, AccessRecord* record, Exclusion*& exclusion) {
  if (!general_) [[likely]] {
    Slot* slot = find_slot(region, place);
    if (slot != nullptr) [[likely]] {
      return enter_slot(*slot, record, exclusion);
    }
    become_general();
  }
  return enter_general(region, record, exclusion);
}

void RegionTable::become_general() {
  auto none = std::make_unique<Slot[]>(first_slots);
  free_histories_.reserve(histories_.size());
  decltype(intervals_) intervals;
  std::uint64_t size_classes = 0;
  const auto key_of = [this, &size_classes](const Slot& slot) {
    const std::uint64_t length = grids_[slot.grid].length;
    const auto size_class = static_cast<std::uint32_t>(std::bit_width(length) - 1);
    size_classes |= 1ULL << size_class;
    return IntervalKey{size_class, {slot.key - 1, length}};
  };
  for (std::size_t i = 0; i <= mask_; ++i) {
    if (slots_[i].key != 0) {
      intervals[key_of(slots_[i])].length = grids_[slots_[i].grid].length;
    }
  }
  for (std::size_t i = 0; i <= mask_; ++i) {
    if (slots_[i].key != 0) {
      intervals[key_of(slots_[i])].history = take_history(slots_[i]);
    }
  }
  intervals_.swap(intervals);
  size_classes_ |= size_classes;
  set_slots(std::move(none), first_slots);
  histories_.clear();
  free_histories_.clear();
  used_ = 0;
  general_ = true;
}

void RegionTable::sweep_intervals() {
  size_classes_ = 0;
  for (auto entry = intervals_.begin(); entry != intervals_.end();) {
    if (prune_history(entry->second.history)) {
      size_classes_ |= 1ULL << entry->first.first;
      ++entry;
    } else {
      drop_exclusion(entry->second.history);
      entry = intervals_.erase(entry);
    }
  }
  sweep_at_ = std::max<std::size_t>(1024, 2 * intervals_.size());
}

std::uint32_t RegionTable::enter_general(const Region& region, AccessRecord* record, Exclusion*& exclusion) {
  if (intervals_.size() >= sweep_at_) {
    sweep_intervals();
  }
  const std::uint64_t end = end_of(region);
  const auto own_class = static_cast<std::uint32_t>(std::bit_width(region.length) - 1);
  const IntervalKey own{own_class, {region.begin, region.length}};
  const bool overwrites = record->mode == AccessMode::out || record->mode == AccessMode::inout;
  Interval& interval = intervals_[own];
  interval.length = region.length;
  size_classes_ |= 1ULL << own_class;
  if (interval.history.exclusion == nullptr) {
    interval.history.exclusion = exclusion_for(record->mode, false).release();
  }
  std::uint32_t dependencies = 0;
  for (std::uint64_t classes = size_classes_; classes != 0; classes &= classes - 1) {
    const auto size_class = static_cast<std::uint32_t>(std::countr_zero(classes));
    // No region of this class is longer than this.
    const std::uint64_t reach = size_class >= 63 ? ~0ULL : (2ULL << size_class) - 1;
    const std::uint64_t first = region.begin > reach ? region.begin - reach : 0;
    for (auto entry = intervals_.lower_bound({size_class, {first, 0}});
         entry != intervals_.end() && entry->first.first == size_class && entry->first.second.first < end;) {
      const std::uint64_t other_begin = entry->first.second.first;
      const std::uint64_t other_end = end_of({0, other_begin, entry->second.length});
      if (other_end <= region.begin || entry->first == own) {
        ++entry;
        continue;
      }
      RegionHistory& history = entry->second.history;
      dependencies += follow(history, record);
      // A later access that overlaps the covered region overlaps this one too, and waits for it.
      const bool covered = region.begin <= other_begin && other_end <= end;
      if (overwrites && covered) {
        drop_history(history);
        entry = intervals_.erase(entry);
      } else {
        ++entry;
      }
    }
  }
  return dependencies + enter_history(interval.history, record, exclusion);
}

}  // namespace dovetail::tasking
