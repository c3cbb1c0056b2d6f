// How a process that opens a file asks the one that stages it to bring it into the final file.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

namespace dovetail::interpose::staged {

/// Until the folder is removed, a thread of the library calls `wanted` when another process asks for the file whose log is in it. False: no process would be
/// heard, since there is no thread or no watch for it. Any thread. @throws std::bad_alloc
bool listen(const std::string& folder, std::function<void()> wanted);
/// The number of that thread. It has all signals blocked. 0: nothing has been listened for yet. Any thread.
pid_t listening_thread();
/// In the child of a fork.
void forget_listener();

/// Asks. @param folder an open descriptor of it
void ask(int folder) noexcept;

}  // namespace dovetail::interpose::staged
