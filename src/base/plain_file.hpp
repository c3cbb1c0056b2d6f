// Small files that another user may have written or put in place: settings, what was learned, curves, results. One way to read
// them and one to write them. Neither waits for a pipe, takes a device for a file, nor follows a link that another user may
// have made.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dovetail::base {

/// Which files are taken.
struct FileRules {
  bool follow_links = false;  ///< Whether the last component of the path may be a symbolic link.
  bool of_anyone = false;     ///< Whether it may belong to another user. All users may read root's files.
  std::size_t most_bytes = std::size_t{1} << 20;
};

/// A file that is open, or why it is not. The receiver owns the descriptor.
struct OpenedFile {
  int descriptor = -1;
  int error = 0;    ///< An errno; 0 where the kernel would have opened it and the rules refuse it.
  std::string why;  ///< For messages, such as "it is a pipe, not a regular file".
};

/// Opens a regular file, and nothing else, without waiting for another process. `O_CLOEXEC` is added. With `O_CREAT` it is
/// made; `O_TRUNC` empties it after it has been found to be right. From any thread; does not suspend.
OpenedFile open_plain_file(const std::string& path, int flags, const FileRules& rules, unsigned mode = 0666);

/// What a small file holds.
struct FileText {
  std::string text;
  bool missing = false;  ///< There is no such file.
  int error = 0;         ///< As in `OpenedFile`.
  std::string why;       ///< Empty: it was read. Else what is wrong with the file.
  bool ours = true;      ///< False: it is not a regular file of this user's, so that it must not be replaced either.
};

/// From any thread; does not suspend. @throws std::bad_alloc.
FileText read_plain_file(const std::string& path, const FileRules& rules);

/// How writing failed. `error` is 0 where it did not.
struct WriteFailure {
  int error = 0;
  const char* operation = "";
  std::size_t offset = 0;
};

/// Replaces a file in one step: others see the old text or the new one, also after a crash. A link at `path` is replaced, not
/// followed; the text is first written to a name beside it that did not exist. From any thread; does not suspend.
WriteFailure replace_plain_file(const std::string& path, std::string_view text);

}  // namespace dovetail::base
