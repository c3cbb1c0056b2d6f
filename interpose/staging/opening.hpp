// What is done around a call that opens a file.
#pragma once

#include <optional>
#include <string>

namespace dovetail::interpose::staged {

/// Whether the library does anything at all in this process, for this call. Any thread.
bool is_active() noexcept;

/// The path without symbolic links; empty: there is no such file. Any thread.
std::string real_path(int folder, const char* path) noexcept;

/// A call that opens a file by its name. All of it for one thread.
class Opening {
 public:
  /// What others have staged of the file comes into it before it is emptied. @param flags of the call
  Opening(int folder, const char* path, int flags) noexcept;
  /// With which it is called: the file is emptied here if it is staged in this process.
  int flags() const noexcept { return flags_; }
  /// Not to be called: what was acknowledged is not in the file. 0: it is to be called.
  int error() const noexcept { return error_; }
  /// @param descriptor what the call has given. Returns what the program is given, with errno.
  int opened(int descriptor) noexcept;

 private:
  int look_at(int descriptor) const noexcept;

  bool is_active_;
  bool empties_ = false;
  int flags_;
  int error_ = 0;
};

/// For a file that is made with a name of the library's: `descriptor` is new, and open for writing.
int opened_new(int descriptor) noexcept;

/// The file with that name, if the configuration names it, is the system's to read and write when this returns. 0, or an errno.
int settle_path(int folder, const char* path, const char* why, bool follow = true) noexcept;
/// What ended processes have left of the file, which is about to lose this name. What is not possible is told.
void recover_ended(int folder, const char* path) noexcept;
/// The same of what a descriptor leads to that is not the program's yet, or leads to a stream.
int settle_opened(int descriptor, const char* why) noexcept;
/// The same of a descriptor that the program had before. Next to no cost where nothing is staged.
int settle_descriptor(int descriptor, const char* why) noexcept;

}  // namespace dovetail::interpose::staged
