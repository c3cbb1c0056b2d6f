// Opening a file without asking another thread to do it.
#pragma once

namespace dovetail::storage {

/// Opens a regular file of this machine's own file systems that the kernel can find without waiting: its path is in the kernel's
/// cache. Creates and truncates nothing. Returns a descriptor, or -1: then nothing has happened, and the answer is another thread's to
/// find. Any thread; does not suspend. @throws std::bad_alloc
int open_at_once(const char* path, int flags);
/// `open` of what the kernel finds in its cache, else -1 with the errno EAGAIN. Opening itself may still wait.
int open_cached(const char* path, int flags) noexcept;

}  // namespace dovetail::storage
