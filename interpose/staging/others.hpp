// What other processes, living and dead, have staged of a file.
#pragma once

#include <sys/types.h>

#include <string>

namespace dovetail::interpose::staged {

/// Brings what ended processes have left of it into it, and has living ones do so; waits for those that do not listen until they have closed it. The calling
/// process has nothing of it staged. 0, or an errno: something that was acknowledged is not in the file; EINTR: a signal handler has run. Blocks. Any thread,
/// which is not within the library.
/// @param path of a file that exists @param inode its number: what a living process has staged of an earlier file of that name is left alone
int settle_others(const std::string& tier, const std::string& path, ino_t inode) noexcept;
/// What is staged of it in other tiers: for a program that writes it counts no more, and is never drained over what is written now. A program that reads is told of it.
/// 0, or an errno. @param descriptor of the file
int settle_elsewhere(const std::string& tier, const std::string& path, int descriptor, bool writes) noexcept;
/// Brings in what ended processes have left of it, and waits for others that do. Those that stage it are not asked. Blocks. Any thread, which is not within the
/// library. @param inode as above
void settle_ended(const std::string& tier, const std::string& path, ino_t inode) noexcept;

}  // namespace dovetail::interpose::staged
