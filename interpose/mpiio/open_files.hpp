// The staged files of this process, by their handles, and those that the program has closed and whose drain goes on.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "rank_file.hpp"

namespace dovetail::interpose::mpiio {

struct FileRule;

/// Null: the file is not staged, and its calls are the MPI library's. Next to no cost where nothing is. Any thread.
std::shared_ptr<RankFile> find_file(MPI_File handle);
/// The same for calls that move data: null also where all of them are written through.
std::shared_ptr<RankFile> find_staged(MPI_File handle);
void add_file(MPI_File handle, std::shared_ptr<RankFile> file);
/// Null: it was not there.
std::shared_ptr<RankFile> remove_file(MPI_File handle);

/// Drains it in the background; `rule` is that of its group.
void defer(std::shared_ptr<RankFile> file, const FileRule* rule);
/// Waits for the deferred files of that group, and for those that have that name, perhaps by links. Empty: all went well. Else a text.
std::string finish_deferred(const FileRule* rule, const std::string& name);
/// For all of them.
std::string finish_all_deferred();

}  // namespace dovetail::interpose::mpiio
