// Calls something later, on a thread of its own: workers and executors may all be busy, or wait for what is to be called.
#pragma once

#include <functional>

namespace dovetail::admission {

/// Calls `action` after so many seconds, unless the process ends or has forked before. False if no thread can be made for that. On any thread.
bool call_later(double seconds, std::function<void()> action) noexcept;

}  // namespace dovetail::admission
