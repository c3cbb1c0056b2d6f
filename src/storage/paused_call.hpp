// Making a call of the C library while the calling task is paused.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "storage/interposition.hpp"

namespace dovetail::storage {

/// What a descriptor leads to.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  mode_t mode = 0;

  /// Asks the system, never the file system's server: a look at the type must not wait. False if the descriptor is not open.
  bool find(int descriptor) noexcept;
  bool same_file(const FileIdentity& other) const noexcept { return device == other.device && inode == other.inode; }
};

/// While it lives, such a call on that file is under way, if the call is one that uses the file position.
class PositionUse {
 public:
  PositionUse(const Call& call, const FileIdentity& file) noexcept;
  ~PositionUse();
  PositionUse(const PositionUse&) = delete;
  PositionUse& operator=(const PositionUse&) = delete;

 private:
  std::atomic<unsigned>* const uses_;
};
/// Whether a call that uses the file position of a descriptor of this file is under way. The system locks that position for as long as
/// such a call takes: another call that needs it meanwhile waits too. A hint: files may share an entry, and it may change at once.
bool position_in_use(const FileIdentity& file) noexcept;

/// Tells the trace of a call, from construction until `ended`. Costs nothing while no trace is recorded.
class TracedCall {
 public:
  explicit TracedCall(const Call& call);
  void ended(std::int64_t result) const noexcept;
};

/// Pauses the current task, which is on a compute worker, until the call has been made. The call may have to wait in a queue. If the
/// descriptor leads to another file when its turn comes, it is not made and the result is `-EBADF`.
std::int64_t pause_for(const Call& call, const FileIdentity& file);

}  // namespace dovetail::storage
