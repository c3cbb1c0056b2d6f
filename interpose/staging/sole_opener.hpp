// Whether a file is open elsewhere.
#pragma once

#include <sys/types.h>

namespace dovetail::interpose::staged {

/// Whether this is the only open description of its file: no other one in this process or another, no mapping. Where the file system cannot tell,
/// other processes are not seen. Blocks none but openers of the file, for an instant. Any thread.
/// False also where the program has a lease of it, or has set owner or signal for openings (F_SETOWN, F_SETSIG, O_ASYNC): that would be lost.
/// @param descriptor open for writing @param signalled the number of a thread of this process that has all signals blocked: one may be sent to it. 0: there is
/// none, and one is made that ends before this returns @throws std::system_error there can be no thread
bool is_sole_opener(int descriptor, pid_t signalled);

}  // namespace dovetail::interpose::staged
