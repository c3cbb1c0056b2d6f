#include "checkpoint/checkpoint.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace bench::checkpoint {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t piece = std::size_t{1} << 20;
constexpr int unavailable = 77;
constexpr std::int64_t nobody = -1;
// Checkpoints in which a learner may adapt to a device that has become slower.
constexpr std::int64_t grace = 20;
// Files there are at most: a checkpoint takes the place of an older one. With new files for all, gigabytes of fresh memory behind the
// device made it slower and slower. More than can be under way at once.
constexpr std::size_t places = 128;

std::string new_folder(const std::string& where) {
  std::string name = where + "/dovetail-checkpoint-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  return name;
}

int checked(ssize_t result, const std::string& what) {
  if (result < 0) {
    throw std::system_error(errno, std::generic_category(), what);
  }
  return static_cast<int>(result);
}

std::int64_t thread_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Sizes::Sizes(CommandLine& line)
    : tasks(line.size("tasks", 64, "tasks, each with one checkpoint")),
      compute_milliseconds(line.size("compute-milliseconds", 50, "processor time of a task before its checkpoint")),
      kibibytes(line.size("kibibytes", 16384, "of a checkpoint")),
      peak(line.size("peak", 400, "MB/s of the device with as many writers as it likes best")),
      halved_after(line.size("halved-after", 0, "checkpoints after which the device has half its speed, 0: never")),
      most(line.size("most", 0, "tasks that the configuration lets use the device at once, 0: any number")) {}

CongestedDevice::CongestedDevice(const Sizes& sizes)
    : folder_(new_folder(fs::temp_directory_path())),
      backing_(new_folder(fs::exists("/dev/shm") ? "/dev/shm" : folder_)),
      mount_(folder_ + "/device"),
      configuration_(folder_ + "/dovetail.toml") {
  fs::create_directory(mount_);
  const std::string peak = std::to_string(sizes.peak);
  std::ofstream configuration(configuration_);
  configuration << "[[device]]\nname = \"congested\"\npaths = [\"" << mount_ << "\"]\nread = " << peak
                << "\nwrite = " << peak << "\n";
  if (sizes.most != 0) {
    configuration << "most_at_once = " << sizes.most << "\n";
  }
  configuration.close();
  const std::string program = fs::read_symlink("/proc/self/exe").parent_path() / "dovetail-congested-fs";
  int in[2];
  int out[2];
  checked(pipe2(in, O_CLOEXEC), "pipe");
  checked(pipe2(out, O_CLOEXEC), "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const char* const words[] = {program.c_str(),  "--until-stdin-closes", "--peak", peak.c_str(),
                               backing_.c_str(), mount_.c_str(),         nullptr};
  const int error =
      posix_spawn(&process_, program.c_str(), &actions, nullptr, const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  char byte = 0;
  const bool ready = error == 0 && read(out[0], &byte, 1) == 1;
  close(out[0]);
  if (!ready) {
    std::fprintf(stderr, "%s cannot be mounted here%s%s\n", program.c_str(), error != 0 ? ": " : "",
                 error != 0 ? std::strerror(error) : "");
    std::exit(unavailable);
  }
}

CongestedDevice::~CongestedDevice() {
  close(input_);
  int status = 0;
  waitpid(process_, &status, 0);
  std::error_code ignored;
  fs::remove(mount_, ignored);  // not what may still be mounted there
  fs::remove_all(backing_, ignored);
  fs::remove_all(folder_, ignored);
}

void CongestedDevice::set_peak(double megabytes) const {
  std::ofstream law(mount_ + "/.law");
  law << "peak=" << megabytes << std::flush;
  if (!law) {
    throw std::runtime_error(mount_ + "/.law takes no new speed");
  }
}

double CongestedDevice::most_waiting() const {
  std::ifstream law(mount_ + "/.law");
  for (std::string word; law >> word;) {
    if (word.starts_with("most_waiting=")) {
      return std::atof(word.c_str() + word.find('=') + 1);
    }
  }
  return 0;
}

Checkpoint::Checkpoint(const CommandLine& command_line, const Sizes& sizes, const CongestedDevice& device)
    : command_line_(command_line), sizes_(sizes), device_(device) {}

void Checkpoint::compute() const {
  const std::int64_t end = thread_nanoseconds() + sizes_.compute_milliseconds * 1'000'000;
  while (thread_nanoseconds() < end) {
  }
}

std::string Checkpoint::file(std::size_t place) const { return device_.path() + "/" + std::to_string(place); }

void Checkpoint::write(std::int64_t task) {
  static thread_local std::vector<char> data(piece, 'x');
  std::memcpy(data.data(), &task, sizeof task);
  const std::size_t place = static_cast<std::size_t>(begun_++) % places;
  const std::string name = file(place);
  const int descriptor = checked(open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644), name);
  const std::int64_t bytes = sizes_.kibibytes * 1024;
  for (std::int64_t offset = 0; offset < bytes;) {
    const auto length = std::min<std::size_t>(piece, static_cast<std::size_t>(bytes - offset));
    offset += checked(pwrite(descriptor, data.data(), length, offset), name);
  }
  checked(fsync(descriptor), name);
  close(descriptor);
  holders_[place] = task;
  note_end();
}

void Checkpoint::note_end() {
  if (sizes_.halved_after == 0) {
    return;
  }
  const std::int64_t ended = ++ended_;
  if (ended == sizes_.halved_after) {
    device_.set_peak(static_cast<double>(sizes_.peak) / 2);
  }
  if (ended == sizes_.halved_after + grace) {
    rest_begun_ = wall_nanoseconds();
  }
}

std::string Checkpoint::check() const {
  for (std::size_t place = 0; place < places; ++place) {
    const std::int64_t task = holders_[place];
    if (task == nobody) {
      continue;
    }
    std::int64_t first = nobody;
    std::ifstream stream(file(place), std::ios::binary);
    stream.read(reinterpret_cast<char*>(&first), sizeof first);
    if (first != task || fs::file_size(file(place)) != static_cast<std::uintmax_t>(sizes_.kibibytes) * 1024) {
      return "the checkpoint of task " + std::to_string(task) + " is not what was written";
    }
    fs::remove(file(place));
  }
  return begun_ == sizes_.tasks ? std::string() : std::to_string(begun_) + " checkpoints were written";
}

void Checkpoint::measure(Report& report, const std::function<void()>& body) {
  for (int run = -command_line_.warmup(); run < command_line_.repeat(); ++run) {
    device_.set_peak(static_cast<double>(sizes_.peak));
    holders_.assign(places, nobody);
    begun_ = 0;
    ended_ = 0;
    const std::int64_t begin = wall_nanoseconds();
    body();
    const std::int64_t end = wall_nanoseconds();
    if (const std::string wrong = check(); !wrong.empty()) {
      report.wrong(wrong);
    }
    if (run >= 0) {
      report.add("seconds", static_cast<double>(end - begin) * 1e-9);
      if (sizes_.halved_after != 0 && sizes_.tasks > sizes_.halved_after + grace) {
        report.add("seconds_of_the_rest", static_cast<double>(end - rest_begun_) * 1e-9);
      }
    }
  }
  report.add("most_at_once", device_.most_waiting());
}

}  // namespace bench::checkpoint
