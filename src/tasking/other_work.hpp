// Whether a task may look for a moment at what it waits for, before it pauses.
#pragma once

namespace dovetail::tasking {

/// Whether the calling worker has something to run, or to see to, while its task pauses, as far as it can see at once. True on other threads.
bool has_other_work() noexcept;

}  // namespace dovetail::tasking
