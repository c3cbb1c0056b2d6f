// Files whose close goes on after the call that closed them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "staging/stage.hpp"

namespace dovetail::staging {

/// Has `close` called in the background, or by the first thread that waits for it. It must not throw; what fails is told by the file. Where
/// no task can be made it is called here.
void close_later(Stage& stage, dev_t device, ino_t inode, const std::string& label, std::function<void()> close)
    EXCLUDES(stage_lock);

/// Returns when no file on that inode is being closed. Adds to `waited` how long it took, in nanoseconds.
void wait_until_closed(Stage& stage, dev_t device, ino_t inode, std::uint64_t& waited) EXCLUDES(stage_lock);

}  // namespace dovetail::staging
