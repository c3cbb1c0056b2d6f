// Whether anybody else has a file open.
#pragma once

namespace dovetail::interpose::staged {

/// Whether this is the only open description of its file: no other one in this process or another, no mapping. Where the file system cannot tell,
/// other processes are not seen. Blocks no one but openers of the file, for an instant. Any thread.
/// @param descriptor open for writing
bool is_sole_opener(int descriptor) noexcept;

}  // namespace dovetail::interpose::staged
