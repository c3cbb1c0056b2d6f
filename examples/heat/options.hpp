/// @file
/// The command line.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "dovetail/file.hpp"

namespace heat {

/// The user asked for something that cannot be done; the message says what. Exit status 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How the tasks write and read.
enum class IoKind {
  plain,    ///< pwrite(2), fdatasync(2): the core waits.
  pausing,  ///< `File::pwrite`: the task waits, the core does not.
  bound,    ///< `File::ipwrite`: the task's completion waits.
};

/// The word for it on the command line and in reports.
const char* name_of(IoKind kind) noexcept;

/// Rows and columns of a field, in cells.
struct Size {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// Side of a block in cells where nothing else is said.
inline constexpr std::size_t default_block = 256;

/// The command line, checked.
struct Options {
  std::optional<Size> size;          ///< Default: that of the field file or checkpoint.
  std::optional<std::size_t> block;  ///< Side of a block in cells. Default 256, or that of the checkpoint.
  std::size_t steps = 100;           ///< Sweeps to make in all, those before a restart included.
  std::size_t checkpoint_every = 0;  ///< Sweeps between checkpoints; 0: none but the final field.
  std::size_t copies = 1;            ///< Spare fields that checkpoints are written from.
  unsigned workers = 0;              ///< 0: as many as there are cores.
  IoKind io = IoKind::pausing;
  dovetail::Direct direct = dovetail::Direct::never;
  std::string directory;
  std::string field;
  std::string trace;
  std::string json;
  bool restart = false;
  bool progress = false;
  bool help = false;
};

/// Reads the arguments after the program's name. @throws BadInput naming the option.
Options parse_options(const std::vector<std::string>& arguments);

/// The text for `--help`.
const char* usage() noexcept;

}  // namespace heat
