/// @file
/// How rows of cells get from rank to rank, and the command line that says so.
#pragma once

#include <string>
#include <vector>

#include "options.hpp"

namespace heat {

/// The ways to exchange rows.
enum class Variant {
  messages_only,  ///< MPI and no tasks: each rank is one thread.
  multiple,       ///< Tasks that call MPI themselves, and one poll of all requests now and then.
  two_sided,      ///< Tasks whose messages are bound to them: <dovetail/mpi.hpp>.
  one_sided,      ///< Tasks that write into the memory of other ranks: <dovetail/rma.hpp>.
};

/// The word for it on the command line and in reports.
const char* name_of(Variant variant) noexcept;

/// The command line of the program with ranks.
struct RankOptions {
  Variant variant = Variant::two_sided;
  Options heat;  ///< As those of the program for one process.
};

/// Reads the arguments after the program's name. @throws BadInput naming the option.
RankOptions parse_rank_options(std::vector<std::string> arguments);

/// The text for `--help`.
std::string rank_usage();

}  // namespace heat
