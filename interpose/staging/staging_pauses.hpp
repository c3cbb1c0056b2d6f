// When nothing becomes staged.
#pragma once

#include <atomic>

namespace dovetail::interpose::staged {

/// Not 0: the process makes another one, which has its descriptors, or comes to its end.
inline constinit std::atomic<unsigned> staging_pauses{0};

}  // namespace dovetail::interpose::staged
