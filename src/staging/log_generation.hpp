// Taking the generation of a final file, and comparing a log's with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/final_mark.hpp"
#include "staging/opened_log.hpp"

namespace dovetail::staging {

/// What a user can do about a log that was superseded.
inline constexpr const char* remedy_of_superseded =
    "`dovetail staging recover --over-newer` brings it over what is newer, `discard --force` removes it";

struct TakenGeneration {
  Generation generation;  ///< None: the file system cannot keep one.
  std::vector<StagedTier>
      elsewhere{};  ///< Tiers that may hold bytes which have been superseded by this, or of which the job has not waited for.
  FileFailure failure{};
};
/// For a file that is about to be opened for writing: takes the next generation, unless the job has it already. `tier`: where the caller's own log will be; without
/// symbolic links. `job` must not be 0. Before any of its processes has a log. @throws std::bad_alloc
TakenGeneration take_generation(const std::string& final_path, const std::string& tier, std::uint64_t job,
                                FileCalls& calls = FileCalls::system());

/// The same tiers, for a file that is opened to be read. A file that cannot be looked at has none.
std::vector<StagedTier> staged_elsewhere(const std::string& final_path, const std::string& tier, std::uint64_t job,
                                         FileCalls& calls = FileCalls::system());

/// Of an open file: all tiers but this one that may hold bytes of it. A file that cannot be looked at has none. @throws std::bad_alloc
std::vector<StagedTier> staged_elsewhere(const MarkedFile& file, const std::string& tier);
/// Puts a generation in force that has no log: what is staged of the file is never drained over what is written from now on. @throws std::bad_alloc
FileFailure supersede_logs(const MarkedFile& file);

/// What a process wants of a log that it has opened.
struct WantedGeneration {
  std::optional<Generation> given{};  ///< That the job has taken. Nothing: the process takes one for itself.
  bool only_what_is_left = false;     ///< It takes none: it drains what is there, and removes the log.
  bool over_newer = false;            ///< A log that was superseded takes its place again.
  bool reads_only = false;            ///< An empty log takes none before `begin_generation`.
};
struct SettledGeneration {
  bool is_superseded = false;           ///< `failure` says so.
  std::vector<StagedTier> elsewhere{};  ///< As above.
  FileFailure failure{};
};
/// Refuses a log that was superseded and is not drained, before it is read: it may be long, and damaged. @throws std::bad_alloc
SettledGeneration refuse_superseded(const MarkedFile& file, const OpenedLog& log);
/// Of a log that was read. Refuses one that has been superseded meanwhile. One that is empty gets the generation that is in force afterwards, and its tier is named by the final file. Blocks. From
/// any thread. @throws std::bad_alloc
SettledGeneration settle_generation(const MarkedFile& file, OpenedLog& log, const WantedGeneration& wanted);

/// For an empty log that was opened to read the file, before anything is put there: it takes a generation now. `given`: as above.
SettledGeneration begin_generation(const MarkedFile& file, const LogFolder& folder, Placement& placement,
                                   bool& is_placed, const std::optional<Generation>& given);

/// Empty: the log may be drained into the file.
FileFailure objection_to_generation(const MarkedFile& file, const Generation& log, const std::string& folder);

}  // namespace dovetail::staging
