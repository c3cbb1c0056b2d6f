// The files of this process that the configuration names: those that are open, and those that the program has closed and whose drain goes on.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>

#include "program_file.hpp"

namespace dovetail::interpose::staged {

/// Whether there are none: then no call needs a look. Any thread.
bool no_files() noexcept;

/// Null: there is none with that identity.
std::shared_ptr<ProgramFile> find_file(const FileIdentity& identity) noexcept;
/// One that is known already, opened once more; null: there is none. Each opening is followed by a `close_file`.
std::shared_ptr<ProgramFile> open_known_file(const FileIdentity& identity);
/// The same, and makes one where there is none. @param path absolute, without symbolic links @throws std::bad_alloc
std::shared_ptr<ProgramFile> open_file(const FileIdentity& identity, const std::string& path, const FileRule& rule);
/// Another descriptor leads to it.
void open_again(ProgramFile& file) noexcept;
/// The last one has it drained behind the program. 0, or the errno of a drain before.
int close_file(const std::shared_ptr<ProgramFile>& file) noexcept;

/// The file is the system's to read and write, and to give another name: one that is open is given up, and one that is closed has been drained. 0, or an errno: what
/// was acknowledged is not in it.
int settle_file(const std::shared_ptr<ProgramFile>& file, const char* why) noexcept;
/// The same of all in a folder, whose path has no symbolic links, and in those below it.
int settle_below(const std::string& folder, const char* why) noexcept;
/// Its last name is about to be removed. False: it is open. Followed by `end_removal`, if it returns true.
bool begin_removal(ProgramFile& file) noexcept;
/// If it was removed, what is left of it on the tier is gone when this returns.
void end_removal(ProgramFile& file, bool is_removed) noexcept;
/// All that are open are given up, and all that are closed are drained, or their failure was told. 0, or the errno of one of these. `why`: null is the end.
int finish_all(const char* why) noexcept;
/// All are durable on their tier, or in the final file. 0, or the errno of the first that is not.
int sync_all() noexcept;
/// In the child of a fork: what its parent had is the parent's.
void forget_files();

}  // namespace dovetail::interpose::staged
