// Descriptors of the program, as files of Dovetail.
#pragma once

#include "dovetail/file.hpp"

namespace dovetail::omp {

/// What a descriptor refers to at this moment.
struct Found {
  File file;
  int error = 0;             ///< errno, where there is no file.
  bool direct = false;       ///< Opened with O_DIRECT.
  bool in_memory = false;    ///< On a file system without a device.
  bool expects_hit = false;  ///< Reads lately found their data in the page cache: trying is worth a system call.
};

/// Any thread may call it. It remembers files, so that what was learned of one is not lost between two calls. Each time it asks the kernel
/// whether the descriptor still refers to the same file.
Found find_file(int descriptor) noexcept;
/// How a try to read from the page cache went.
void note_hit(int descriptor, bool hit) noexcept;
/// Forgets all files.
void forget_files() noexcept;
/// In the child of a fork, where another thread may have held a lock.
void abandon_files() noexcept;

}  // namespace dovetail::omp
