// While a process makes another one, which has its descriptors, nothing becomes staged.
#pragma once

#include <atomic>

namespace dovetail::interpose::staged {

inline constinit std::atomic<unsigned> children_being_made{0};

}  // namespace dovetail::interpose::staged
