// dovetail-congested-fs: a folder seen through a device that gets slower the more writers wait for it.
#include <fcntl.h>
#include <fuse.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "processor_sharing.hpp"
#include "stdin_guard.hpp"

namespace {

using dovetail::devices::CongestionLaw;
using dovetail::devices::ProcessorSharing;
using dovetail::devices::StdinGuard;

constexpr double megabyte = 1e6;
constexpr const char* law_path = "/.law";

/// Bytes that were written to each file and not drained yet. Thread-safe.
class DirtyBytes {
 public:
  void add(int descriptor, std::size_t bytes) {
    std::lock_guard lock(mutex_);
    bytes_[identity(descriptor)] += static_cast<double>(bytes);
  }
  double take(int descriptor) {
    std::lock_guard lock(mutex_);
    const auto found = bytes_.find(identity(descriptor));
    if (found == bytes_.end()) {
      return 0;
    }
    const double taken = found->second;
    bytes_.erase(found);
    return taken;
  }

 private:
  using Identity = std::pair<dev_t, ino_t>;
  static Identity identity(int descriptor) {
    struct stat status{};
    return fstat(descriptor, &status) == 0 ? Identity(status.st_dev, status.st_ino) : Identity();
  }
  std::mutex mutex_;
  std::map<Identity, double> bytes_;
};

struct System {
  System(std::string folder, const CongestionLaw& law) : backing(std::move(folder)), device(law) {}
  std::string backing;
  ProcessorSharing device;
  DirtyBytes dirty;
};

System& the_system() { return *static_cast<System*>(fuse_get_context()->private_data); }
std::string real(const char* path) { return the_system().backing + path; }
int result(int value) { return value < 0 ? -errno : 0; }
bool is_law(const char* path) { return std::strcmp(path, law_path) == 0; }
int descriptor_of(const fuse_file_info* file) { return static_cast<int>(file->fh); }

std::string law_text() {
  const CongestionLaw law = the_system().device.law();
  std::ostringstream text;
  text << "peak=" << law.peak / megabyte << " saturation=" << law.saturation << " knee=" << law.knee
       << " penalty=" << law.penalty << " waiting=" << the_system().device.waiting()
       << " most_waiting=" << the_system().device.most_waiting() << "\n";
  return text.str();
}

// "name=number" words; those that are not named stay. Returns 0 or -EINVAL.
int change_law(const std::string& text) {
  CongestionLaw law = the_system().device.law();
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    char* end = nullptr;
    const double value = equals == std::string::npos ? -1 : std::strtod(word.c_str() + equals + 1, &end);
    const std::string name = word.substr(0, equals);
    const bool good = end != nullptr && *end == '\0' && end != word.c_str() + equals + 1;
    if (good && name == "peak" && value > 0) {
      law.peak = value * megabyte;
    } else if (good && name == "saturation" && value > 0) {
      law.saturation = value;
    } else if (good && name == "knee" && value >= 0) {
      law.knee = value;
    } else if (good && name == "penalty" && value >= 0) {
      law.penalty = value;
    } else {
      std::fprintf(stderr, "dovetail-congested-fs: '%s': peak, saturation, knee or penalty=NUMBER is expected\n",
                   word.c_str());
      return -EINVAL;
    }
  }
  the_system().device.set_law(law);
  return 0;
}

void* initialize(fuse_conn_info* connection, fuse_config* configuration) {
  configuration->use_ino = 1;
  configuration->nullpath_ok = 0;
  // The kernel must not go on using what the backing folder no longer has.
  configuration->entry_timeout = 0;
  configuration->attr_timeout = 0;
  connection->max_write = 1U << 20;
  return fuse_get_context()->private_data;
}

int get_attributes(const char* path, struct stat* status, fuse_file_info* file) {
  if (is_law(path)) {
    *status = {};
    status->st_mode = S_IFREG | 0644;
    status->st_nlink = 1;
    status->st_uid = getuid();
    status->st_size = static_cast<off_t>(law_text().size());
    return 0;
  }
  return result(file != nullptr ? fstat(descriptor_of(file), status) : lstat(real(path).c_str(), status));
}

int open_with(const char* path, int flags, mode_t mode, fuse_file_info* file) {
  if (is_law(path)) {
    file->direct_io = 1;
    return 0;
  }
  const int descriptor = open(real(path).c_str(), (flags & ~(O_DIRECT | O_APPEND)) | O_CLOEXEC, mode);
  if (descriptor < 0) {
    return -errno;
  }
  file->fh = static_cast<std::uint64_t>(descriptor);
  return 0;
}
int open_file(const char* path, fuse_file_info* file) { return open_with(path, file->flags, 0, file); }
int create_file(const char* path, mode_t mode, fuse_file_info* file) {
  return open_with(path, file->flags | O_CREAT, mode, file);
}

int read_file(const char* path, char* buffer, std::size_t size, off_t offset, fuse_file_info* file) {
  if (is_law(path)) {
    const std::string text = law_text();
    const auto begin = std::min(static_cast<std::size_t>(offset), text.size());
    return static_cast<int>(text.copy(buffer, size, begin));
  }
  const ssize_t done = pread(descriptor_of(file), buffer, size, offset);
  return done < 0 ? -errno : static_cast<int>(done);
}

int write_file(const char* path, const char* data, std::size_t size, off_t offset, fuse_file_info* file) {
  if (is_law(path)) {
    const int error = change_law(std::string(data, size));
    return error != 0 ? error : static_cast<int>(size);
  }
  const int descriptor = descriptor_of(file);
  const ssize_t done = pwrite(descriptor, data, size, offset);
  if (done < 0) {
    return -errno;
  }
  if ((file->flags & (O_SYNC | O_DSYNC)) != 0) {
    the_system().device.drain(static_cast<double>(done));
  } else {
    the_system().dirty.add(descriptor, static_cast<std::size_t>(done));
  }
  return static_cast<int>(done);
}

int synchronize_file(const char* path, int, fuse_file_info* file) {
  if (!is_law(path)) {
    the_system().device.drain(the_system().dirty.take(descriptor_of(file)));
  }
  return 0;
}

int release_file(const char* path, fuse_file_info* file) {
  return is_law(path) ? 0 : result(close(descriptor_of(file)));
}

int truncate_file(const char* path, off_t size, fuse_file_info* file) {
  if (is_law(path)) {
    return 0;
  }
  return result(file != nullptr ? ftruncate(descriptor_of(file), size) : truncate(real(path).c_str(), size));
}

int allocate(const char*, int mode, off_t offset, off_t length, fuse_file_info* file) {
  return result(fallocate(descriptor_of(file), mode, offset, length));
}

int read_folder(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  std::error_code error;
  fill(buffer, ".", nullptr, 0, {});
  fill(buffer, "..", nullptr, 0, {});
  for (const auto& entry : std::filesystem::directory_iterator(real(path), error)) {
    fill(buffer, entry.path().filename().c_str(), nullptr, 0, {});
  }
  return -error.value();
}

fuse_operations operations() {
  fuse_operations all{};
  all.init = initialize;
  all.getattr = get_attributes;
  all.open = open_file;
  all.create = create_file;
  all.read = read_file;
  all.write = write_file;
  all.fsync = synchronize_file;
  all.release = release_file;
  all.truncate = truncate_file;
  all.fallocate = allocate;
  all.readdir = read_folder;
  all.unlink = [](const char* path) { return is_law(path) ? -EPERM : result(unlink(real(path).c_str())); };
  all.mkdir = [](const char* path, mode_t mode) { return result(mkdir(real(path).c_str(), mode)); };
  all.rmdir = [](const char* path) { return result(rmdir(real(path).c_str())); };
  all.rename = [](const char* from, const char* to, unsigned flags) {
    return result(renameat2(AT_FDCWD, real(from).c_str(), AT_FDCWD, real(to).c_str(), flags));
  };
  all.chmod = [](const char* path, mode_t mode, fuse_file_info*) { return result(chmod(real(path).c_str(), mode)); };
  all.chown = [](const char* path, uid_t user, gid_t group, fuse_file_info*) {
    return result(lchown(real(path).c_str(), user, group));
  };
  all.utimens = [](const char* path, const timespec* times, fuse_file_info*) {
    return result(utimensat(AT_FDCWD, real(path).c_str(), times, AT_SYMLINK_NOFOLLOW));
  };
  all.statfs = [](const char* path, struct statvfs* status) {
    return result(statvfs(is_law(path) ? the_system().backing.c_str() : real(path).c_str(), status));
  };
  all.symlink = [](const char* target, const char* path) { return result(symlink(target, real(path).c_str())); };
  all.readlink = [](const char* path, char* buffer, std::size_t size) {
    const ssize_t length = readlink(real(path).c_str(), buffer, size - 1);
    if (length < 0) {
      return -errno;
    }
    buffer[length] = '\0';
    return 0;
  };
  return all;
}

int serve(System& system, const std::string& mount_point, unsigned threads, bool until_stdin_closes) {
  const fuse_operations all = operations();
  char name[] = "dovetail-congested-fs";
  char flag[] = "-o";
  char settings[] = "fsname=dovetail-congested-fs,subtype=dovetail";
  char* words[] = {name, flag, settings};
  fuse_args arguments = FUSE_ARGS_INIT(3, words);
  fuse* const handle = fuse_new(&arguments, &all, sizeof all, &system);
  if (handle == nullptr) {
    return 1;
  }
  int status = 1;
  // On failure the library has said why on standard error.
  if (fuse_mount(handle, mount_point.c_str()) == 0) {
    fuse_set_signal_handlers(fuse_get_session(handle));
    std::puts("ready");
    std::fflush(stdout);
    std::optional<StdinGuard> guard;
    if (until_stdin_closes) {
      guard.emplace();
    }
    fuse_loop_config* const loop = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(loop, threads);
    fuse_loop_cfg_set_idle_threads(loop, threads);
    status = fuse_loop_mt(handle, loop) >= 0 ? 0 : 1;
    fuse_loop_cfg_destroy(loop);
    guard.reset();
    fuse_remove_signal_handlers(fuse_get_session(handle));
    fuse_unmount(handle);
  }
  fuse_destroy(handle);
  fuse_opt_free_args(&arguments);
  return status;
}

}  // namespace

int main(int count, char** arguments) {
  CongestionLaw law;
  std::string backing;
  std::string mount_point;
  unsigned threads = 160;
  bool until_stdin_closes = false;
  CLI::App application(
      "Shows the folder BACKING at MOUNT_POINT through a device that drains what was written at each fsync, shared "
      "equally by the n that wait, at peak * min(1, n / saturation) / (1 + penalty * max(0, n - knee)), until SIGTERM "
      "or "
      "unmounting. Prints 'ready' on standard output when mounted. The law is read and changed in MOUNT_POINT/.law.");
  application.add_option("backing", backing)->required()->check(CLI::ExistingDirectory);
  application.add_option("mount_point", mount_point)->required()->check(CLI::ExistingDirectory);
  application.add_option("--peak", law.peak, "MB/s (default 400)")->check(CLI::PositiveNumber);
  application.add_option("--saturation", law.saturation, "writers that reach the peak (default 2)")
      ->check(CLI::PositiveNumber);
  application.add_option("--knee", law.knee, "writers beyond which they hinder each other (default 4)")
      ->check(CLI::NonNegativeNumber);
  application.add_option("--penalty", law.penalty, "what each of these costs (default 0.15)")
      ->check(CLI::NonNegativeNumber);
  application.add_option("--threads", threads, "calls at the same time, those that wait included (default 160)")
      ->check(CLI::Range(2, 4096));
  application.add_flag("--until-stdin-closes", until_stdin_closes,
                       "unmount also when standard input ends, so that no mount outlives its maker");
  try {
    application.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    const int status = application.exit(error);
    return status == 0 ? 0 : 2;
  }
  law.peak *= megabyte;
  umask(0);
  try {
    System system(std::filesystem::canonical(backing).string(), law);
    return serve(system, mount_point, threads, until_stdin_closes);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dovetail-congested-fs: %s\n", error.what());
    return 1;
  }
}
