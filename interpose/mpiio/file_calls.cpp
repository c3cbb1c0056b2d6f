// The calls on a file that move no data.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "agreement.hpp"
#include "data_type.hpp"
#include "draining.hpp"
#include "failures.hpp"
#include "functions.hpp"
#include "open_files.hpp"
#include "opening.hpp"
#include "shown.hpp"

namespace dovetail::interpose::mpiio {
namespace {

// Drained on all ranks, then the MPI library's own call.
template <class Call>
int behind_drain(MPI_File file, const Call& call) {
  if (const auto staged = find_file(file)) {
    if (const int code = drain_all(*staged, file); code != MPI_SUCCESS) {
      return code;
    }
  }
  return call();
}

// What others have left is not drained for those that only read it. What others have written since is in the final file.
int sync(MPI_File file) {
  if (const auto staged = find_file(file); staged != nullptr && staged->is_undrained()) {
    staged->forget_superseded();
    return pmpi().File_sync(file);
  }
  return behind_drain(file, [&] { return pmpi().File_sync(file); });
}

// A file grows without its log: what is staged lies before the new end.
int set_size(MPI_File file, MPI_Offset size) {
  if (const auto staged = find_file(file)) {
    auto end = static_cast<std::int64_t>(staged->staged_end());
    agree_on_largest(staged->communicator(), {&end, 1});
    if (size < end) {
      if (const int code = drain_all(*staged, file); code != MPI_SUCCESS) {
        return code;
      }
    }
  }
  return pmpi().File_set_size(file, size);
}

FileView view_of(MPI_Offset displacement, MPI_Datatype unit, MPI_Datatype tile) {
  MPI_Count unit_bytes = 0;
  pmpi().Type_size_x(unit, &unit_bytes);
  return {.displacement = displacement,
          .unit_bytes = static_cast<std::uint64_t>(std::max(unit_bytes, MPI_Count{0})),
          .tile = layout_of(tile).value_or(TypeLayout{})};
}

// Hints that are changed while the file is open. Collective.
int change_hints(RankFile& staged, MPI_File file, MPI_Info info, const char* call) {
  const ReadHints read = read_hints(hints_of(info), staged.hints());
  if (any_failed(staged.communicator(), !read.why_not.empty())) {
    if (!read.why_not.empty()) {
      tell(std::string(call) + " of " + staged.path() + ": " + read.why_not);
    }
    return fail(file, MPI_ERR_INFO_VALUE,
                read.why_not.empty() ? "the hints of another rank cannot be used" : read.why_not);
  }
  staged.change_hints(read.hints);
  return MPI_SUCCESS;
}

int set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype unit, MPI_Datatype tile, const char* representation,
             MPI_Info info) {
  const auto staged = find_file(file);
  if (staged == nullptr) {
    return pmpi().File_set_view(file, displacement, unit, tile, representation, info);
  }
  if (const int code = change_hints(*staged, file, info, "MPI_File_set_view"); code != MPI_SUCCESS) {
    return code;
  }
  const bool foreign = representation != nullptr && std::strcmp(representation, "native") != 0;
  if (foreign) {
    if (const int code = drain_all(*staged, file); code != MPI_SUCCESS) {
      return code;
    }
    int rank = 0;
    pmpi().Comm_rank(staged->communicator(), &rank);
    if (rank == 0 && staged->tells()) {
      tell(staged->path() + " is written through, without the local tier: its view has the data representation " +
           representation);
    }
  }
  const LibraryInfo library_info(info, nullptr);
  const int code = pmpi().File_set_view(file, displacement, unit, tile, representation, library_info.get());
  if (code == MPI_SUCCESS) {
    staged->set_foreign(foreign);
    staged->set_view(view_of(displacement, unit, tile));
  }
  return code;
}

int set_atomicity(MPI_File file, int flag) {
  const auto staged = find_file(file);
  if (staged != nullptr && flag != 0) {
    if (const int code = drain_all(*staged, file); code != MPI_SUCCESS) {
      return code;
    }
  }
  const int code = pmpi().File_set_atomicity(file, flag);
  if (staged != nullptr && code == MPI_SUCCESS) {
    staged->set_atomic(flag != 0);
  }
  return code;
}

int get_size(MPI_File file, MPI_Offset* size) {
  // In this order: what is drained meanwhile counts in one of them.
  const auto staged = find_file(file);
  const auto end = staged != nullptr ? static_cast<MPI_Offset>(staged->staged_end()) : 0;
  const int code = pmpi().File_get_size(file, size);
  if (code == MPI_SUCCESS) {
    *size = std::max(*size, end);
  }
  return code;
}

int set_info(MPI_File file, MPI_Info info) {
  const auto staged = find_file(file);
  if (staged == nullptr) {
    return pmpi().File_set_info(file, info);
  }
  if (const int code = change_hints(*staged, file, info, "MPI_File_set_info"); code != MPI_SUCCESS) {
    return code;
  }
  const LibraryInfo library_info(info, nullptr);
  return pmpi().File_set_info(file, library_info.get());
}

// The MPI library looks for the end in the final file.
int seek(MPI_File file, MPI_Offset offset, int from) {
  const auto staged = find_file(file);
  if (staged == nullptr) {
    return pmpi().File_seek(file, offset, from);
  }
  if (from == MPI_SEEK_END) {
    if (const int code = drain_own(*staged, file); code != MPI_SUCCESS) {
      return code;
    }
  }
  const base::LockGuard lock(staged->pointer_mutex());
  return pmpi().File_seek(file, offset, from);
}

int get_info(MPI_File file, MPI_Info* info) {
  const int code = pmpi().File_get_info(file, info);
  if (const auto staged = find_file(file); staged != nullptr && code == MPI_SUCCESS) {
    for (const auto& [name, value] : hints_in_force(staged->hints())) {
      pmpi().Info_set(*info, name.c_str(), value.c_str());
    }
  }
  return code;
}

}  // namespace
}  // namespace dovetail::interpose::mpiio

using namespace dovetail::interpose::mpiio;

extern "C" {

SHOWN int MPI_File_sync(MPI_File file) {
  return without_exceptions(file, [&] { return sync(file); });
}

SHOWN int MPI_File_set_size(MPI_File file, MPI_Offset size) {
  return without_exceptions(file, [&] { return set_size(file, size); });
}

// Some libraries read what is there and write it back.
SHOWN int MPI_File_preallocate(MPI_File file, MPI_Offset size) {
  return without_exceptions(file,
                            [&] { return behind_drain(file, [&] { return pmpi().File_preallocate(file, size); }); });
}

SHOWN int MPI_File_get_size(MPI_File file, MPI_Offset* size) {
  return without_exceptions(file, [&] { return get_size(file, size); });
}

SHOWN int MPI_File_set_info(MPI_File file, MPI_Info info) {
  return without_exceptions(file, [&] { return set_info(file, info); });
}

SHOWN int MPI_File_get_info(MPI_File file, MPI_Info* info) {
  return without_exceptions(file, [&] { return get_info(file, info); });
}

SHOWN int MPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype unit, MPI_Datatype tile,
                            const char* representation, MPI_Info info) {
  return without_exceptions(file, [&] { return set_view(file, displacement, unit, tile, representation, info); });
}

SHOWN int MPI_File_set_atomicity(MPI_File file, int flag) {
  return without_exceptions(file, [&] { return set_atomicity(file, flag); });
}

SHOWN int MPI_File_seek(MPI_File file, MPI_Offset offset, int from) {
  return without_exceptions(file, [&] { return seek(file, offset, from); });
}

SHOWN int MPI_File_seek_shared(MPI_File file, MPI_Offset offset, int from) {
  return without_exceptions(file, [&] {
    return from == MPI_SEEK_END ? behind_drain(file, [&] { return pmpi().File_seek_shared(file, offset, from); })
                                : pmpi().File_seek_shared(file, offset, from);
  });
}
}
