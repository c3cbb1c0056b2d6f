// The descriptors of all files of the process that are to be registered, and the rings that have them registered. A ring looks up
// a registered file in a table of its own instead of the table of the process, which other threads change.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/registration.hpp"

namespace dovetail::storage {

class Ring;

/// Thread-safe. Takes a lock, save where said otherwise.
class FileRegistry {
 public:
  /// Most descriptors that are registered at once; further ones are used as any other.
  static constexpr unsigned slots = 1024;

  /// Never destroyed.
  static FileRegistry& instance() noexcept;

  /// A place for one more descriptor; `slots` if there is none.
  unsigned acquire() noexcept;
  /// The descriptor is about to be closed, and nothing that uses it is in flight. Nothing for `slots`.
  void release(unsigned slot) noexcept;
  /// Tells descriptors apart that had the slot one after the other. Never 0. Without a lock, while the slot is held.
  std::uint32_t generation(unsigned slot) const noexcept { return all_[slot].generation; }

  /// @name For rings
  /// @{
  void add(Ring* ring);
  void remove(Ring* ring) noexcept;
  void note(unsigned slot, int error) noexcept;  ///< An errno, 0: accepted. Without a lock.
  /// @}
  /// What rings said of it. Without a lock, while the slot is held.
  RegistrationState registration(unsigned slot) const noexcept { return all_[slot].answers.state(); }

 private:
  struct Slot {
    std::uint32_t generation = 0;
    RegistrationAnswers answers;
  };
  FileRegistry();
  bool inherited() const noexcept;

  const int process_;  // Which made all this; its children only inherited it, and nobody knows there who held the lock.
  const std::unique_ptr<Slot[]> all_;
  std::mutex mutex_;
  std::vector<Ring*> rings_;
  std::vector<unsigned> free_;
};

}  // namespace dovetail::storage
