// MPI_File_open, _close and _delete.
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "agreement.hpp"
#include "draining.hpp"
#include "failures.hpp"
#include "format_library.hpp"
#include "functions.hpp"
#include "job_identity.hpp"
#include "left_files.hpp"
#include "open_files.hpp"
#include "opening.hpp"
#include "process.hpp"
#include "shown.hpp"
#include "staging/log_generation.hpp"
#include "staging/placement.hpp"
#include "staging/tier_folders.hpp"

namespace dovetail::interpose::mpiio {
namespace {

using staging::FileFailure;
using staging::TieredFile;

// As it is in the file system: a prefix such as "ufs:" is for the MPI library.
std::string system_path(const std::string& path) {
  struct stat status{};
  const std::size_t colon = path.find(':');
  const bool has_prefix = colon != std::string::npos && colon > 1 && path.find('/') > colon;
  return has_prefix && ::stat(path.c_str(), &status) != 0 ? path.substr(colon + 1) : path;
}

// As patterns of a configuration are compared with it. The file need not exist, and its links are not followed: a user names what the program opens.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  pmpi().Comm_rank(communicator, &rank);
  return rank;
}

int size_of(MPI_Comm communicator) {
  int size = 1;
  pmpi().Comm_size(communicator, &size);
  return size;
}

struct OpenedTier {
  std::unique_ptr<TieredFile> file;
  RankFile::Names names;
  FileFailure failure;
};

// All tell their own tier, as it is in the file system, or as it is named if it is not there.
staging::FolderName folder_for(const Hints& hints, const std::string& path) {
  staging::FolderName name = staging::folder_of(hints.path, path);
  if (name.failure) {
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error);
    name.final_path = error ? path : real;
  }
  return name;
}

std::string tier_of(const staging::FolderName& name, const Hints& hints) {
  return name.folder.empty() ? hints.path : staging::tier_of_log(name.folder);
}

// Of one rank, for all.
staging::TakenGeneration take_generation(const Hints& hints, const std::string& path) {
  const staging::FolderName name = folder_for(hints, path);
  staging::TakenGeneration taken =
      staging::take_generation(name.final_path, tier_of(name, hints), static_cast<std::uint64_t>(job_identity()));
  for (const staging::StagedTier& each : taken.elsewhere) {
    tell(staging::text_of_elsewhere(each, name.final_path));
  }
  return taken;
}

void tell_what_is_not_seen(const Hints& hints, const std::string& path) {
  const staging::FolderName name = folder_for(hints, path);
  for (const staging::StagedTier& each :
       staging::staged_elsewhere(name.final_path, tier_of(name, hints), static_cast<std::uint64_t>(job_identity()))) {
    tell(staging::text_of_elsewhere(each, name.final_path));
  }
}

struct AgreedGeneration {
  staging::Generation generation;
  std::string why_not;  // empty: it was taken, or the file system has none
};

// Collective. Also for a file that is written through: what a log has of it is older from then on.
AgreedGeneration agree_on_generation(MPI_Comm communicator, const Hints& hints, const std::string& path) {
  const bool decides = rank_in(communicator) == 0;
  AgreedGeneration agreed;
  std::array<std::int64_t, 3> numbers = {0, 0, INT64_MIN};  // whether it has failed, the job, the opening
  if (decides) {
    staging::TakenGeneration taken;
    const FileFailure thrown = without_exceptions("mark", [&] {
      taken = take_generation(hints, path);
      return FileFailure{};
    });
    if (thrown) {
      taken.failure = thrown;
    }
    agreed.why_not = taken.failure.text();
    // Another thread may have agreed on another job since.
    const std::int64_t job =
        taken.generation.is_none() ? job_identity() : static_cast<std::int64_t>(taken.generation.job);
    numbers = {taken.failure ? 1 : 0, job, static_cast<std::int64_t>(taken.generation.opening)};
  }
  agree_on_largest(communicator, numbers);
  adopt_job_identity(numbers[1]);
  if (numbers[0] != 0) {
    agreed.why_not = decides ? agreed.why_not : "another rank could not mark it";
  } else if (numbers[2] != 0) {
    agreed.generation = {.job = static_cast<std::uint64_t>(numbers[1]),
                         .opening = static_cast<std::uint64_t>(numbers[2])};
  }
  return agreed;
}

OpenedTier open_tier(const Hints& hints, const std::string& path, int ranks, const staging::Generation& generation) {
  OpenedTier opened;
  staging::FolderName name = staging::folder_of(hints.path, path);
  if (name.failure) {
    opened.failure = std::move(name.failure);
    return opened;
  }
  const auto rank = static_cast<unsigned>(rank_in(handles().world));
  opened.names = {.path = name.final_path, .folder = staging::writer_folder(name.folder, rank)};
  const staging::TierLock lock = staging::lock_tier(hints.path);
  if (lock.failure) {
    opened.failure = lock.failure;
    return opened;
  }
  staging::TierSettings settings = settings_of(hints, ranks);
  settings.generation = generation;
  TieredFile::Opened file = TieredFile::open(opened.names.folder, name.final_path, settings);
  const int error = file.failure.error;
  // It is that of a file that is gone, of another handle or job, of another user, or has been superseded.
  if (error == ESTALE || error == EBUSY || !staging::is_of_this_user(opened.names.folder)) {
    if (error == ESTALE && !file.is_superseded) {
      tell(staging::text_of_orphan(opened.names.folder, name.final_path));
    }
    opened.names.folder = staging::next_writer_folder(name.folder, opened.failure);
    file = TieredFile::open(opened.names.folder, name.final_path, settings);
  }
  opened.file = std::move(file.file);
  opened.failure = std::move(file.failure);
  return opened;
}

// Why a file that is opened so is not staged; empty: it can be.
std::string objection_to(int mode) {
  if ((mode & MPI_MODE_DELETE_ON_CLOSE) != 0) {
    return "it is deleted when it is closed";
  }
  return (mode & MPI_MODE_SEQUENTIAL) != 0 ? "it is opened with MPI_MODE_SEQUENTIAL" : "";
}

struct Wanted {
  const FileRule* rule = nullptr;
  ReadHints read;
};

bool is_to_be_read(int mode) { return (mode & MPI_MODE_RDONLY) != 0; }

// Beside the MPI library's file, which is open. Collective. `undrained`: null if nothing is left in the tier.
void read_beside(MPI_Comm communicator, const std::string& path, int mode, const Wanted& wanted, MPI_File file,
                 std::shared_ptr<staging::UndrainedFile> undrained) {
  MPI_Comm own{};
  if (undrained != nullptr) {
    pmpi().Comm_dup(communicator, &own);  // before anything that may throw: all ranks come here
  }
  if (rank_in(communicator) == 0) {
    tell_what_is_not_seen(wanted.read.hints, path);
  }
  if (undrained != nullptr) {
    staging::FolderName name = folder_for(wanted.read.hints, path);
    add_file(file, std::make_shared<RankFile>(std::move(undrained),
                                              RankFile::Names{std::move(name.final_path), std::move(name.folder)},
                                              wanted.read.hints, own, mode));
  }
}

// Likewise: all ranks stage it, or none does.
void stage(MPI_Comm communicator, const std::string& path, int mode, const Wanted& wanted, MPI_File file) {
  const AgreedGeneration agreed = agree_on_generation(communicator, wanted.read.hints, path);
  std::string why_not = objection_to(mode);
  why_not = why_not.empty() ? agreed.why_not : why_not;
  OpenedTier opened;
  if (why_not.empty()) {
    const FileFailure thrown = without_exceptions("stage", [&] {
      opened = open_tier(wanted.read.hints, path, size_of(communicator), agreed.generation);
      return FileFailure{};
    });
    why_not = thrown ? thrown.text() : opened.failure.text();
  }
  // The first rank that cannot use the tier tells why.
  const std::int64_t mine = why_not.empty() ? 0 : INT32_MAX - std::int64_t{rank_in(communicator)};
  std::array<std::int64_t, 2> all = {mine, is_called_by_format_library() ? 1 : 0};
  agree_on_largest(communicator, all);
  if (all[0] != 0) {
    if (all[0] == mine) {
      tell(path + " is written through, without the local tier: " + why_not);
    }
    if (opened.file != nullptr) {
      opened.file->finish();
    }
    return;
  }
  MPI_Comm own{};
  pmpi().Comm_dup(communicator, &own);
  add_file(file, std::make_shared<RankFile>(std::move(opened.file), std::move(opened.names), wanted.read.hints,
                                            wanted.rule, own, mode, all[1] != 0));
}

Wanted wanted_for(const std::string& path, MPI_Info info) {
  Wanted wanted{.rule = configuration().rule_for(absolute_path(path)), .read = {}};
  GivenHints given = hints_of(info);
  if (wanted.rule != nullptr) {
    for (const auto& [name, value] : wanted.rule->hints) {
      given[name] = value;
    }
  }
  wanted.read = read_hints(given, usual_hints());
  return wanted;
}

// What must be the same on all ranks.
std::int64_t in_one_number(const Wanted& wanted) {
  const Hints& hints = wanted.read.hints;
  const bool defers = wanted.rule != nullptr && wanted.rule->deferred_close;
  return (static_cast<std::int64_t>(hints.cache) << 4) + (static_cast<std::int64_t>(hints.flush) << 2) +
         (hints.discard ? 2 : 0) + (defers ? 1 : 0);
}

// Collective. False on all ranks if one has failed.
bool recover_together(MPI_Comm communicator, const Hints& hints, const std::string& name, std::string& why) {
  const FileFailure recovery = without_exceptions("recover", [&] { return recover_file(hints, name); });
  if (recovery) {
    tell(recovery.text());
  }
  if (!any_failed(communicator, static_cast<bool>(recovery))) {
    return true;
  }
  why = recovery ? "what an earlier run had left of " + name + " cannot be brought there: " + recovery.text()
                 : "another rank cannot bring what an earlier run had left of " + name + " there";
  return false;
}

int open_file(MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* file) {
  if (communicator == handles().no_communicator) {
    return pmpi().File_open(communicator, path, mode, info, file);  // which says so
  }
  const std::string name = system_path(path);
  const Wanted wanted = wanted_for(name, info);
  const Hints& hints = wanted.read.hints;
  std::string earlier = finish_deferred(wanted.rule, name);
  const std::int64_t mine = in_one_number(wanted);
  std::array<std::int64_t, 4> all = {wanted.read.why_not.empty() ? 0 : 1, earlier.empty() ? 0 : 1, mine, -mine};
  agree_on_largest(communicator, all);
  const bool differ = all[2] != -all[3];
  if (all[0] != 0 || differ) {
    std::string why = wanted.read.why_not;
    if (why.empty()) {
      why = all[0] != 0 ? "the hints of another rank cannot be used" : "the ranks give different hints of e10_cache";
    }
    if (!wanted.read.why_not.empty() || (differ && rank_in(communicator) == 0)) {
      tell("MPI_File_open of " + name + ": " + why);
    }
    return fail(handles().no_file, MPI_ERR_INFO_VALUE, why);
  }
  if (all[1] != 0) {
    return fail(handles().no_file, MPI_ERR_IO,
                earlier.empty() ? "another rank could not drain a file that was closed before" : earlier);
  }
  const LibraryInfo library_info(info, wanted.rule);
  if (hints.cache == Cache::disable) {
    return pmpi().File_open(communicator, path, mode, library_info.get(), file);
  }
  const bool reads = is_to_be_read(mode);
  std::shared_ptr<staging::UndrainedFile> undrained =
      reads && objection_to(mode).empty() ? open_undrained(communicator, hints, name) : nullptr;
  if (undrained == nullptr && !recover_together(communicator, hints, name, earlier)) {
    return fail(handles().no_file, MPI_ERR_IO, earlier);
  }
  const int code = pmpi().File_open(communicator, path, mode, library_info.get(), file);
  if (code == MPI_SUCCESS && reads) {
    read_beside(communicator, name, mode, wanted, *file, std::move(undrained));
  } else if (code == MPI_SUCCESS) {
    stage(communicator, name, mode, wanted, *file);
  }
  return code;
}

// Without those that are deferred. Collective, also where some ranks do not drain: MPI_File_set_info may have given each of them other hints. No rank lets its log go
// before all have said that they will: otherwise some of them would be taken for what is left of a killed job.
int drain_at_close(RankFile& staged, MPI_File file) {
  return agree_on_drain(staged, file, without_exceptions("drain", [&] {
                          if (staged.hints().flush != Flush::none) {
                            return staged.finish();
                          }
                          staged.leave();
                          return FileFailure{};
                        }));
}

// One rank drains what the job before has left, while the program goes on.
int close_undrained(const std::shared_ptr<RankFile>& staged, MPI_File* file) {
  MPI_Comm communicator = staged->communicator();
  const int closed = pmpi().File_close(file);
  // No rank reads it any more.
  if (!any_failed(communicator, closed != MPI_SUCCESS) && rank_in(communicator) == 0 &&
      staged->hints().flush != Flush::none) {
    finish_at_finalize();
    defer(staged, nullptr);
  }
  pmpi().Comm_free(&communicator);
  return closed;
}

int close_file(MPI_File* file) {
  const std::shared_ptr<RankFile> staged = remove_file(*file);
  if (staged == nullptr) {
    return pmpi().File_close(file);
  }
  if (staged->is_undrained()) {
    return close_undrained(staged, file);
  }
  const FileRule* const rule = staged->rule();
  const bool defers = rule != nullptr && rule->deferred_close;
  const int code = defers ? MPI_SUCCESS : drain_at_close(*staged, *file);
  MPI_Comm communicator = staged->communicator();
  const int closed = pmpi().File_close(file);
  if (defers && staged->hints().flush != Flush::none) {
    finish_at_finalize();
    defer(staged, rule);
  }
  pmpi().Comm_free(&communicator);
  return code != MPI_SUCCESS ? code : closed;
}

int delete_file(const char* path, MPI_Info info) {
  const std::string name = system_path(path);
  finish_deferred(nullptr, name);
  const Wanted wanted = wanted_for(name, info);
  if (wanted.read.why_not.empty() && wanted.read.hints.cache != Cache::disable) {
    // Its log goes with it.
    recover_file(wanted.read.hints, name, true);
  }
  const LibraryInfo library_info(info, wanted.rule);
  return pmpi().File_delete(path, library_info.get());
}

}  // namespace
}  // namespace dovetail::interpose::mpiio

using namespace dovetail::interpose::mpiio;

extern "C" {

SHOWN int MPI_File_open(MPI_Comm communicator, const char* path, int mode, MPI_Info info, MPI_File* file) {
  return without_exceptions(handles().no_file, [&] { return open_file(communicator, path, mode, info, file); });
}

SHOWN int MPI_File_close(MPI_File* file) {
  return without_exceptions(*file, [&] { return close_file(file); });
}

SHOWN int MPI_File_delete(const char* path, MPI_Info info) {
  return without_exceptions(handles().no_file, [&] { return delete_file(path, info); });
}
}
