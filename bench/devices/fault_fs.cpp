// dovetail-fault-fs: a file system that passes everything through to a folder, except what its rules spoil.
#include <fuse_lowlevel.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fault_operations.hpp"
#include "stdin_guard.hpp"

namespace {

using namespace dovetail::devices;

constexpr const char* usage =
    "usage: dovetail-fault-fs [OPTION...] BACKING MOUNT_POINT\n"
    "Shows the folder BACKING at MOUNT_POINT and spoils reads, writes and fsyncs by rule, until SIGTERM or "
    "unmounting.\n"
    "Prints 'ready' on standard output when mounted.\n"
    "  --rule RULE             a rule, such as 'write error=EIO nth=3' (repeat for more; see bench/devices/README.md)\n"
    "  --cached                let the kernel cache files opened without O_DIRECT (else every call reaches the rules)\n"
    "  --threads N             transfers carried out at the same time (default 16); waiting calls take no thread\n"
    "  --until-stdin-closes    unmount also when standard input ends, so that no mount outlives its maker\n"
    "  --help\n"
    "Rules are read and changed in MOUNT_POINT/.faults: '>' replaces them, '>>' adds to them.\n";

struct BadUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::vector<FaultRule> rules;
  bool cached = false;
  bool until_stdin_closes = false;
  unsigned int threads = 16;
  std::string backing;
  std::string mount_point;
};

Options parse_options(const std::vector<std::string_view>& words) {
  Options options;
  std::vector<std::string> folders;
  for (std::size_t index = 0; index < words.size(); ++index) {
    const std::string_view word = words[index];
    const auto value = [&] {
      if (index + 1 == words.size()) {
        throw BadUsage(std::string(word) + " needs a value");
      }
      return words[++index];
    };
    if (word == "--rule") {
      if (auto rule = parse_rule(value())) {
        options.rules.push_back(std::move(*rule));
      }
    } else if (word == "--cached") {
      options.cached = true;
    } else if (word == "--until-stdin-closes") {
      options.until_stdin_closes = true;
    } else if (word == "--threads") {
      const std::string_view text = value();
      const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), options.threads);
      if (error != std::errc{} || rest != text.data() + text.size() || options.threads < 1 || options.threads > 1024) {
        throw BadUsage("--threads " + std::string(text) + ": a number from 1 to 1024 is expected");
      }
    } else if (word.substr(0, 1) == "-") {
      throw BadUsage("unknown option '" + std::string(word) + "'");
    } else {
      folders.emplace_back(word);
    }
  }
  if (folders.size() != 2) {
    throw BadUsage("two folders are needed, BACKING and MOUNT_POINT");
  }
  options.backing = folders[0];
  options.mount_point = folders[1];
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
  const std::vector<std::string_view> words(arguments + 1, arguments + count);
  if (words.size() == 1 && words[0] == "--help") {
    std::fputs(usage, stdout);
    return 0;
  }
  // What the callers asked for is what their files get, and every file the kernel remembers holds a descriptor here.
  umask(0);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  try {
    return serve(parse_options(words));
  } catch (const BadRule& error) {
    std::fprintf(stderr, "dovetail-fault-fs: %s\n", error.what());
    return 2;
  } catch (const BadUsage& error) {
    std::fprintf(stderr, "dovetail-fault-fs: %s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail-fault-fs: %s\n", error.what());
    return 1;
  }
}
