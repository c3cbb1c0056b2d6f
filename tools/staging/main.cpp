// dovetail-staging: what is on the local tier and not yet in its final file.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "staging/inspection.hpp"
#include "staging/locked_descriptor.hpp"
#include "staging/placement.hpp"
#include "staging/recovery.hpp"
#include "staging/tier_folders.hpp"
#include "staging/tier_lock.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

constexpr int bad_usage = 2;

int complain(const FileFailure& failure) {
  std::fprintf(stderr, "dovetail staging: %s\n", failure.text().c_str());
  return 1;
}

nlohmann::json as_json(const std::string& folder, const Inspection& found) {
  nlohmann::json json = {{"folder", folder},
                         {"segments", found.segments},
                         {"log_bytes", found.log_bytes},
                         {"torn_bytes", found.torn_bytes},
                         {"staged_bytes", found.staged_bytes},
                         {"extents", found.extents},
                         {"records", found.records},
                         {"damage", found.damage.text()},
                         {"superseded", found.is_superseded}};
  json["final_path"] = found.placement ? nlohmann::json(found.placement->final_path) : nlohmann::json();
  return json;
}

void print(const std::string& folder, const Inspection& found) {
  std::printf("%s\n", folder.c_str());
  if (!found.placement) {
    std::printf("  no staged file: it has no placement\n");
    return;
  }
  std::printf("  final file  %s\n", found.placement->final_path.c_str());
  std::printf("  staged      %llu bytes in %zu extents, by %llu records\n",
              static_cast<unsigned long long>(found.staged_bytes), found.extents,
              static_cast<unsigned long long>(found.records));
  std::printf("  log         %llu bytes in %zu segments", static_cast<unsigned long long>(found.log_bytes),
              found.segments);
  if (found.torn_bytes != 0) {
    std::printf(", %llu of them behind a torn record", static_cast<unsigned long long>(found.torn_bytes));
  }
  std::printf("\n");
  if (found.is_superseded) {
    std::printf("  superseded  the final file was opened for writing by others since: it is not drained by itself\n");
  }
  if (!found.has_marks) {
    std::printf(
        "  no mark     the final file system keeps no extended attributes: another node's job is not known here\n");
  }
  if (found.damage) {
    std::printf("  damaged     %s\n", found.damage.text().c_str());
  }
}

// The folder itself, if it is that of a file, or those of the files in a tier.
template <class Act>
int for_each_log(const std::string& folder, const Act& act) {
  FileFailure failure;
  const std::vector<std::string> logs = logs_in(folder, failure);
  if (failure) {
    return complain(failure);
  }
  int status = 0;
  for (const std::string& log : logs) {
    status = std::max(status, act(log));
  }
  return status;
}

int show(const std::string& folder, bool json) {
  auto all = nlohmann::json::array();
  const int result = for_each_log(folder, [&](const std::string& log) {
    const Inspection found = inspect(log);
    if (found.failure) {
      return complain(found.failure);
    }
    if (json) {
      all.push_back(as_json(log, found));
    } else {
      print(log, found);
    }
    return 0;
  });
  if (json && result == 0) {
    // A path need not be UTF-8.
    std::printf("%s\n", all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  return result;
}

int verify(const std::string& log) {
  const Inspection found = inspect(log);
  if (found.failure || found.damage) {
    return complain(found.failure ? found.failure : found.damage);
  }
  std::printf("%s: all that was durable is there and unchanged\n", log.c_str());
  return 0;
}

struct TakenLogs {
  std::vector<std::string> logs{};    // of one file, in their order
  std::vector<OpenedFolder> taken{};  // up to the first that cannot be taken
  FileFailure failure{};
};

// All of the file of a log together: whoever opens the file meanwhile finds none that lies over one that is drained later. Openings of other files go on. Another
// folder that a user may have named is taken alone.
TakenLogs take_logs(const std::string& log, FileCalls& calls) {
  TakenLogs result{.logs = {log}};
  const TierLock lock = lock_tier(tier_of_log(log));
  result.failure = lock.failure;
  if (is_name_of_log(log) && !result.failure) {
    result.logs = writer_folders(file_folder(log), result.failure);
  }
  for (auto each = result.logs.begin(); !result.failure && each != result.logs.end(); ++each) {
    result.taken.push_back(take_to_recover(*each, calls));
    if (const int why = result.taken.back().failure.error; why != 0 && why != ENOENT) {
      break;
    }
  }
  return result;
}

Recovery recover_one(OpenedFolder taken, const TierSettings& settings) {
  const std::string log = taken.folder.path;
  const FoundPlacement found = read_placement(log);
  Recovery recovery = recover(std::move(taken), settings);
  for (const StagedTier& each : settings.over_newer ? recovery.elsewhere : std::vector<StagedTier>{}) {
    const std::string path = found.placement ? found.placement->final_path : log;
    std::fprintf(stderr, "dovetail staging: %s\n", text_of_elsewhere(each, path).c_str());
  }
  return recovery;
}

// The file of a log. What lies behind a log that could not be recovered may be newer, and stays.
int recover_file(const std::string& log, const TierSettings& settings) {
  TakenLogs logs = take_logs(log, *settings.calls);
  if (logs.failure) {
    return complain(logs.failure);
  }
  int status = 0;
  std::size_t done = 0;
  bool is_of_another = false;
  for (bool has_failed = false; !has_failed && done < logs.taken.size(); ++done) {
    const Recovery recovery = recover_one(std::move(logs.taken[done]), settings);
    has_failed = recovery.has_failed();
    is_of_another = recovery.failure.error == EBUSY;
    status = recovery.failure ? complain(recovery.failure) : status;
  }
  const char* const why = is_of_another ? "is left to the process that has an earlier log of its file"
                                        : "stays as it is, since an earlier log of its file does";
  for (const std::string& behind : std::span(logs.logs).subspan(done)) {
    std::fprintf(stderr, "dovetail staging: %s %s\n", behind.c_str(), why);
  }
  return status;
}

int recover_all(const std::string& folder, const TierSettings& settings) {
  FileFailure failure;
  const std::vector<std::string> logs = logs_in(folder, failure);
  if (failure) {
    return complain(failure);
  }
  int status = 0;
  for (auto first = logs.begin(); first != logs.end();) {
    const auto end = std::find_if(first + 1, logs.end(), [&](const std::string& log) {
      return !is_name_of_log(*first) || file_folder(log) != file_folder(*first);
    });
    status = std::max(status, recover_file(*first, settings));
    first = end;
  }
  return status;
}

int discard_one(const std::string& log, bool is_forced) {
  const Inspection found = inspect(log);
  if (!is_forced && (found.failure || found.damage || found.staged_bytes != 0 || found.is_half_drained)) {
    std::fprintf(stderr, "dovetail staging: %s has %llu bytes for %s that are nowhere else; --force drops them\n",
                 log.c_str(), static_cast<unsigned long long>(found.staged_bytes),
                 found.placement ? found.placement->final_path.c_str() : "an unknown file");
    return 1;
  }
  const FileFailure failure = discard(log);
  return failure ? complain(failure) : 0;
}

// Until the process that has it has closed it, or has ended.
int wait_for(const std::string& log) {
  {
    const LockedDescriptor folder(::open(log.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) {
      return errno == ENOENT ? 0 : complain({.error = errno, .operation = "open", .path = log});
    }
    if (const int error = lock_file(folder.get(), LOCK_SH)) {
      return complain({.error = error, .operation = "lock", .path = log});
    }
  }  // the log may be long, and whoever takes the folder waits for this lock
  if (::access(log.c_str(), F_OK) != 0) {
    return 0;  // drained, and removed
  }
  const Inspection found = inspect(log);
  if (found.failure) {
    return found.failure.error == ENOENT ? 0 : complain(found.failure);
  }
  if (found.staged_bytes != 0) {
    std::fprintf(stderr, "dovetail staging: %s has %llu bytes, and no process that drains them: use 'recover'\n",
                 log.c_str(), static_cast<unsigned long long>(found.staged_bytes));
    return 1;
  }
  return 0;
}

int run(int count, char** arguments) {
  std::string folder;
  bool json = false;
  bool what_is_left = false;
  bool over_newer = false;
  bool is_forced = false;
  CLI::App app("Looks at folders of the local tier, and finishes what a process has left there.", "dovetail staging");
  app.set_version_flag("--version", DOVETAIL_VERSION);
  app.require_subcommand(1);
  const auto command = [&](const char* name, const char* help) {
    CLI::App* made = app.add_subcommand(name, help);
    made->add_option("folder", folder, "The folder of a file in the tier, or the tier: all its files")->required();
    return made;
  };
  CLI::App* shown = command("status", "Says which file it belongs to, and what is not drained yet");
  const CLI::App* verified = command("verify", "Reads and checks all of it; status 1 if something durable is missing");
  CLI::App* recovered = command("recover", "Brings what is staged into the final file, and removes the folder");
  const CLI::App* waited = command("wait", "Returns when the process that has it has drained and closed it");
  CLI::App* discarded = command("discard", "Removes the folder, and brings nothing into the final file");
  shown->add_flag("--json", json, "For programs: a list");
  recovered->add_flag("--take-what-is-left", what_is_left, "Also if durable records are missing: those before them");
  recovered->add_flag("--over-newer", over_newer, "Also if the file was opened for writing since: over what is newer");
  discarded->add_flag("--force", is_forced, "Also what is nowhere else");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : bad_usage;
  }
  // Absolute and without a slash at its end: the tier and the number of a log are read from its name.
  folder = std::filesystem::weakly_canonical(folder);
  if (shown->parsed()) {
    return show(folder, json);
  }
  if (recovered->parsed()) {
    TierSettings settings = settings_from_environment();
    settings.take_what_is_left = what_is_left;
    settings.over_newer = over_newer;
    return recover_all(folder, settings);
  }
  return for_each_log(folder, [&](const std::string& log) {
    return verified->parsed() ? verify(log) : waited->parsed() ? wait_for(log) : discard_one(log, is_forced);
  });
}

}  // namespace
}  // namespace dovetail::staging

int main(int count, char** arguments) {
  try {
    return dovetail::staging::run(count, arguments);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "dovetail staging: %s\n", error.what());
    return dovetail::staging::bad_usage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail staging: %s\n", error.what());
    return 1;
  }
}
