// The problem: tasks that compute and then write a checkpoint that must be on the device, which congests
// (bench/devices/congested_fs.cpp). How many of them write at once decides how long it takes.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/harness.hpp"

namespace bench::checkpoint {

/// The sizes of the problem, as the command line says.
struct Sizes {
  explicit Sizes(CommandLine& command_line);
  const std::int64_t& tasks;
  const std::int64_t& compute_milliseconds;
  const std::int64_t& kibibytes;
  const std::int64_t& peak;          ///< MB/s
  const std::int64_t& halved_after;  ///< Checkpoints after which the device has half its speed; 0: never.
  const std::int64_t& most;          ///< Tasks that dovetail.toml lets use the device at once; 0: any number.
};

/// The device, mounted in a temporary folder for as long as this lives. Ends the program with 77 where that cannot be done.
class CongestedDevice {
 public:
  explicit CongestedDevice(const Sizes& sizes);
  ~CongestedDevice();
  CongestedDevice(const CongestedDevice&) = delete;
  CongestedDevice& operator=(const CongestedDevice&) = delete;

  const std::string& path() const noexcept { return mount_; }
  /// A dovetail.toml that describes it, with the name "congested".
  const std::string& configuration() const noexcept { return configuration_; }
  /// From now on it gives this at most, in MB/s. Thread-safe.
  void set_peak(double megabytes) const;
  /// How many callers it had at most, by its own count.
  double most_waiting() const;

 private:
  std::string folder_;
  std::string backing_;
  std::string mount_;
  std::string configuration_;
  int input_ = -1;
  pid_t process_ = -1;
};

class Checkpoint {
 public:
  Checkpoint(const CommandLine& command_line, const Sizes& sizes, const CongestedDevice& device);

  std::int64_t tasks() const noexcept { return sizes_.tasks; }
  /// Keeps a core busy for the time that a task computes, measured in processor time.
  void compute() const;
  /// Writes the checkpoint of a task and waits until it is on the device, whose speed changes with it if that is its time.
  void write(std::int64_t task);
  /// Runs `body` as often as asked for and adds `seconds` to the report. If the device becomes slower it also adds `seconds_of_the_rest`:
  /// from the end of the 20th checkpoint after that. Reports files that are wrong.
  void measure(Report& report, const std::function<void()>& body);

 private:
  void note_end();
  std::string file(std::size_t place) const;
  std::string check() const;

  const CommandLine& command_line_;
  const Sizes& sizes_;
  const CongestedDevice& device_;
  std::vector<std::int64_t> holders_;  ///< Of each file, the task whose checkpoint it is.
  std::atomic<std::int64_t> begun_{0};
  std::atomic<std::int64_t> ended_{0};
  std::atomic<std::int64_t> rest_begun_{0};  ///< By wall_nanoseconds.
};

}  // namespace bench::checkpoint
