#include "storage/file_registry.hpp"

#include <unistd.h>

#include "storage/ring.hpp"

namespace dovetail::storage {

FileRegistry& FileRegistry::instance() noexcept {
  static auto* made = new FileRegistry;
  return *made;
}

FileRegistry::FileRegistry() : process_(getpid()), all_(std::make_unique<Slot[]>(slots)) {
  free_.reserve(slots);
  for (unsigned slot = slots; slot > 0; --slot) {
    free_.push_back(slot - 1);
  }
}

bool FileRegistry::inherited() const noexcept { return process_ != getpid(); }

unsigned FileRegistry::acquire() noexcept {
  if (inherited()) {
    return slots;
  }
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    return slots;
  }
  const unsigned slot = free_.back();
  free_.pop_back();
  ++all_[slot].generation;
  all_[slot].answers.forget();
  return slot;
}

void FileRegistry::release(unsigned slot) noexcept {
  if (slot == slots || inherited()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (Ring* ring : rings_) {
    ring->forget_file(slot);
  }
  free_.push_back(slot);  // has room: it had as many at first
}

void FileRegistry::add(Ring* ring) {
  const std::lock_guard lock(mutex_);
  rings_.push_back(ring);
}

void FileRegistry::remove(Ring* ring) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(rings_, ring);
}

void FileRegistry::note(unsigned slot, int error) noexcept { all_[slot].answers.note(error); }

}  // namespace dovetail::storage
