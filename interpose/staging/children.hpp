// What is staged, before there is a child.
#pragma once

namespace dovetail::interpose::staged {

/// All that is open is given up, and all that is closed is drained. Any thread.
void settle_for_child() noexcept;

}  // namespace dovetail::interpose::staged
