// dovetail-fault-fs: a file system that passes everything through to a folder, except what its rules spoil.
#include <fuse_lowlevel.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "fault_operations.hpp"
#include "stdin_guard.hpp"

namespace {

using namespace dovetail::devices;

constexpr const char* description =
    "Shows the folder BACKING at MOUNT_POINT and spoils reads, writes and fsyncs by rule, until SIGTERM or "
    "unmounting.\n"
    "Prints 'ready' on standard output when mounted. Rules are read and changed in MOUNT_POINT/.faults: '>' replaces "
    "them, '>>' adds to them.";

struct Options {
  std::vector<FaultRule> rules;
  bool cached = false;
  bool until_stdin_closes = false;
  unsigned int threads = 16;
  std::string backing;
  std::string mount_point;
};

/// @throws CLI::ParseError, also for --help; BadRule.
Options parse_options(CLI::App& application, int count, char** arguments) {
  Options options;
  std::vector<std::string> rules;
  application.add_option("backing", options.backing)->required()->check(CLI::ExistingDirectory);
  application.add_option("mount_point", options.mount_point)->required()->check(CLI::ExistingDirectory);
  application
      .add_option("--rule", rules,
                  "a rule, such as 'write error=EIO nth=3' (repeat for more; see bench/devices/README.md)")
      ->allow_extra_args(false);
  application.add_flag("--cached", options.cached,
                       "let the kernel cache files opened without O_DIRECT (else every call reaches the rules)");
  application
      .add_option("--threads", options.threads,
                  "transfers carried out at the same time (default 16); waiting calls take no thread")
      ->check(CLI::Range(1, 1024));
  application.add_flag("--until-stdin-closes", options.until_stdin_closes,
                       "unmount also when standard input ends, so that no mount outlives its maker");
  application.parse(count, arguments);
  for (const std::string& text : rules) {
    if (auto rule = parse_rule(text)) {
      options.rules.push_back(std::move(*rule));
    }
  }
  return options;
}

int serve(Options options) {
  FaultFileSystem system(options.backing);
  system.cached = options.cached;
  system.rules.append(std::move(options.rules));

  fuse_lowlevel_ops operations{};
  add_name_operations(operations);
  add_file_operations(operations);
  char name[] = "dovetail-fault-fs";
  char flag[] = "-o";
  char settings[] = "fsname=dovetail-fault-fs,subtype=dovetail";
  char* words[] = {name, flag, settings};
  fuse_args arguments = FUSE_ARGS_INIT(3, words);
  fuse_session* session = fuse_session_new(&arguments, &operations, sizeof operations, &system);
  if (session == nullptr) {
    return 1;
  }
  int status = 1;
  if (fuse_set_signal_handlers(session) == 0) {
    // On failure the library has said why on standard error.
    if (fuse_session_mount(session, options.mount_point.c_str()) == 0) {
      std::puts("ready");
      std::fflush(stdout);
      std::optional<StdinGuard> guard;
      if (options.until_stdin_closes) {
        guard.emplace();
      }
      fuse_loop_config* loop = fuse_loop_cfg_create();
      fuse_loop_cfg_set_max_threads(loop, options.threads);
      fuse_loop_cfg_set_idle_threads(loop, options.threads);
      const int end = fuse_session_loop_mt(session, loop);
      fuse_loop_cfg_destroy(loop);
      guard.reset();
      fuse_session_unmount(session);
      // A signal is the usual way to end this program.
      status = end >= 0 ? 0 : 1;
    }
    fuse_remove_signal_handlers(session);
  }
  system.replies.stop();
  fuse_session_destroy(session);
  fuse_opt_free_args(&arguments);
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  // What the callers asked for is what their files get, and every file the kernel remembers holds a descriptor here.
  umask(0);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  CLI::App application(description, "dovetail-fault-fs");
  try {
    return serve(parse_options(application, count, arguments));
  } catch (const CLI::ParseError& error) {
    return application.exit(error) == 0 ? 0 : 2;
  } catch (const BadRule& error) {
    std::fprintf(stderr, "dovetail-fault-fs: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail-fault-fs: %s\n", error.what());
    return 1;
  }
}
