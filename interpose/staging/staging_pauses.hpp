// When nothing becomes staged.
#pragma once

#include <atomic>

namespace dovetail::interpose::staged {

/// Not 0: the process makes another one, which has its descriptors, gives a file another name, or comes to its end.
inline constinit std::atomic<unsigned> staging_pauses{0};

/// The rights of the process, or what its paths lead to, are not those that it began with.
inline constinit std::atomic<bool> staging_is_over{false};

class StagingPause {
 public:
  StagingPause() noexcept { ++staging_pauses; }
  ~StagingPause() { --staging_pauses; }
  StagingPause(const StagingPause&) = delete;
  StagingPause& operator=(const StagingPause&) = delete;
};

}  // namespace dovetail::interpose::staged
