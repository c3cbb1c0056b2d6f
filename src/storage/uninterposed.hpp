// The library's own transfers must reach the system even where a library that interposes the same calls is loaded.
// Otherwise such a call of a task would come back as another call of that task.
#pragma once

namespace dovetail::storage {

/// While it lives, calls of this thread are left alone. Never across anything that may suspend.
class Uninterposed {
 public:
  Uninterposed() noexcept;
  ~Uninterposed();
  /// Whether one lives in this thread.
  static bool is_now() noexcept;
  Uninterposed(const Uninterposed&) = delete;
  Uninterposed& operator=(const Uninterposed&) = delete;
};

}  // namespace dovetail::storage
