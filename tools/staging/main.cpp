// dovetail-staging: what is on the local tier and not yet in its final file.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>

#include "staging/inspection.hpp"
#include "staging/recovery.hpp"

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
                         {"damage", found.damage.text()}};
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
  if (found.damage) {
    std::printf("  damaged     %s\n", found.damage.text().c_str());
  }
}

int status(const std::string& folder, bool json) {
  const Inspection found = inspect(folder);
  if (found.failure) {
    return complain(found.failure);
  }
  if (json) {
    // A path need not be UTF-8.
    const std::string text = as_json(folder, found).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    std::printf("%s\n", text.c_str());
  } else {
    print(folder, found);
  }
  return 0;
}

int verify(const std::string& folder) {
  const Inspection found = inspect(folder);
  if (found.failure || found.damage) {
    return complain(found.failure ? found.failure : found.damage);
  }
  if (!found.placement) {
    return complain(
        {.error = ENOENT, .operation = "verify", .path = folder, .why = "it is not the folder of a staged file"});
  }
  std::printf("%s: all that was durable is there and unchanged\n", folder.c_str());
  return 0;
}

int recover_all(const std::string& folder, bool take_what_is_left) {
  // For a program a folder that is gone has been recovered. A user may have mistyped it.
  if (::access(folder.c_str(), F_OK) != 0) {
    return complain({.error = errno, .operation = "open", .path = folder});
  }
  TierSettings settings;
  settings.take_what_is_left = take_what_is_left;
  const FileFailure failure = recover(folder, settings);
  return failure ? complain(failure) : 0;
}

int run(int count, char** arguments) {
  std::string folder;
  bool json = false;
  bool what_is_left = false;
  CLI::App app("Looks at folders of the local tier, and finishes what a process has left there.", "dovetail staging");
  app.require_subcommand(1);
  const auto command = [&](const char* name, const char* help) {
    CLI::App* made = app.add_subcommand(name, help);
    made->add_option("folder", folder, "The folder of one file, in the tier")->required();
    return made;
  };
  const CLI::App* shown = command("status", "Says which file it belongs to, and what is not drained yet");
  const CLI::App* verified = command("verify", "Reads and checks all of it; status 1 if something durable is missing");
  CLI::App* recovered = command("recover", "Brings what is staged into the final file, and removes the folder");
  recovered->add_flag("--take-what-is-left", what_is_left, "Also if durable records are missing: those before them");
  app.get_subcommand(shown->get_name())->add_flag("--json", json, "For programs");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : bad_usage;
  }
  return shown->parsed()      ? status(folder, json)
         : verified->parsed() ? verify(folder)
                              : recover_all(folder, what_is_left);
}

}  // namespace
}  // namespace dovetail::staging

int main(int count, char** arguments) {
  try {
    return dovetail::staging::run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail staging: %s\n", error.what());
    return 1;
  }
}
