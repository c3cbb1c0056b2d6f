#include "options.hpp"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <system_error>

namespace dovetail::doctor {
namespace {

constexpr const char* description =
    "Says which storage engines of Dovetail work here and why others do not, what devices there are, how fast they "
    "are\n"
    "at several depths, and what Dovetail would choose. It leaves no file behind, however it ends.\n"
    "Exit status: 0; 1 a given path could not be measured; 2 bad usage.";

// Bad in the same way as an option that does not exist.
std::string check_path(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0
             ? std::string()
             : path + ": " + std::generic_category().message(errno) + "; name a file or folder that exists";
}

std::chrono::milliseconds in_milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

}  // namespace

std::optional<DoctorOptions> parse(int count, char** arguments, int& status) {
  DoctorOptions options;
  CLI::App app(description, "dovetail-doctor");
  app.set_version_flag("--version", DOVETAIL_VERSION);
  app.add_option(
         "path", options.paths,
         "Files or folders whose devices are looked at (default: the current folder, $TMPDIR, and what is mounted)")
      ->check(check_path);
  app.add_flag("--measure,!--no-measure", options.measure,
               "Measure reading and writing, a few seconds for each device (default), or do not");
  app.add_flag("--json", options.json, "Print everything as one JSON object");
  app.add_option("--engine", options.engine, "Measure with auto, uring, aio or threads (default auto: the fastest)")
      ->check(CLI::IsMember({"auto", "uring", "aio", "threads"}));
  app.add_option("--blocks", options.blocks, "Bytes of a request, such as 4K,128K,1M (default 4K,128K)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::uint64_t{512}, std::uint64_t{64} << 20));
  app.add_option("--depths", options.depths, "Requests at once (default 1,4,16,64)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1U, 1024U));
  double point_limit = 0.15;
  double total_limit = 6;
  app.add_option("--point-limit", point_limit,
                 "Most seconds for one point (default 0.15); more finds the steady state of throttled devices")
      ->check(CLI::Range(0.01, 3600.0));
  app.add_option("--total-limit", total_limit, "Most seconds for one device (default 6)")
      ->check(CLI::Range(0.01, 86400.0));
  try {
    app.parse(count, arguments);
    if (point_limit > total_limit) {
      throw CLI::ValidationError("--total-limit", "must not be less than --point-limit");
    }
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      status = app.exit(error);  // help or version
    } else {
      std::fprintf(stderr, "dovetail-doctor: %s\nRun dovetail-doctor --help for what can be given.\n", error.what());
      status = 2;
    }
    return std::nullopt;
  }
  options.point_limit = in_milliseconds(point_limit);
  options.total_limit = in_milliseconds(total_limit);
  return options;
}

}  // namespace dovetail::doctor
