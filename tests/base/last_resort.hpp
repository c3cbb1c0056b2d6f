// After how long a process ends itself that was not ended from outside.
#pragma once

namespace dovetail::test {

/// For `alarm` in a child that may hang. Behind the limit of every test, so that it is the watchdog (scripts/watchdog.py) that finds it and prints its
/// stack; an earlier one would end the child without a word.
inline constexpr unsigned last_resort_seconds = 1200;

}  // namespace dovetail::test
