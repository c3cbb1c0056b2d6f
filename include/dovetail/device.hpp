/// @file
/// The device behind a path: what the system says about it, and what it was measured to do. A runtime is not needed; all
/// functions may be called from any thread, block it, and never suspend a task. Nothing is measured unless asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail {

/// Which way bytes go.
enum class Direction : std::uint8_t {
  read,   ///< From the device.
  write,  ///< To the device.
};

/// Limits that the kernel's block I/O controller (cgroup version 1 or 2) puts on this process. 0: no limit known.
struct Throttle {
  std::uint64_t read_bytes_per_second = 0;        ///< Bytes read in a second.
  std::uint64_t write_bytes_per_second = 0;       ///< Bytes written in a second.
  std::uint64_t read_operations_per_second = 0;   ///< Reads in a second.
  std::uint64_t write_operations_per_second = 0;  ///< Writes in a second.
  std::string group = {};  ///< Folder of the control group that sets the tightest limit; or empty.
  /// Whether there is any limit.
  bool any() const noexcept {
    return (read_bytes_per_second | write_bytes_per_second | read_operations_per_second |
            write_operations_per_second) != 0;
  }
};

/// What the system says about the file system and the block device behind a path. What the system does not say is left at
/// its default.
struct Device {
  std::string path = {};                 ///< The path that was asked for.
  std::string mount_point = {};          ///< Where the file system is mounted.
  std::string file_system = {};          ///< Its type, such as "ext4" or "fuse.sshfs".
  std::string source = {};               ///< What is mounted there, as the mount table names it.
  std::string number = {};               ///< "major:minor" of the file system.
  std::string name = {};                 ///< The block device, such as "vda" (the whole disk of a partition), or empty.
  std::optional<bool> rotational = {};   ///< Whether it has turning platters.
  std::string scheduler = {};            ///< The kernel's I/O scheduler, such as "mq-deadline".
  std::uint64_t request_bytes_max = 0;   ///< Longer requests are cut by the kernel.
  std::uint64_t request_bytes_best = 0;  ///< Request length that the device prefers.
  std::uint32_t queue_requests = 0;      ///< Requests that its queue takes.
  bool direct = false;                   ///< Whether files there can bypass the page cache (`O_DIRECT`).
  std::uint32_t direct_offset_align = 0;  ///< Bytes that offsets and lengths of direct transfers are multiples of.
  std::uint32_t direct_memory_align = 0;  ///< Bytes that addresses of direct transfers are multiples of.
  bool in_memory = false;                 ///< tmpfs and the like: a transfer is a copy.
  bool network = false;                   ///< Files of another machine.
  bool fuse = false;                      ///< A file system in user space.
  bool loop = false;                      ///< A file that is used as a block device.
  std::string backing_file = {};          ///< That file, as the system names it.
  bool read_only = false;                 ///< Mounted read-only.
  std::uint64_t size_bytes = 0;           ///< Of the file system.
  std::uint64_t free_bytes = 0;           ///< Of it, what this user may still fill.
  Throttle throttle = {};                 ///< Limits of the control groups of this process.

  /// Looks at a file, folder or block device.
  /// @throws IoError when there is no such path or it may not be looked at.
  static Device of(const std::string& path);
  /// Every mounted file system that stores files (not `proc` and the like), each once.
  /// @throws IoError when the table of mounts cannot be read.
  static std::vector<Device> mounted();
};

/// One point of a curve.
struct CurvePoint {
  Direction direction = Direction::read;  ///< Reading or writing.
  std::uint64_t block = 0;                ///< Bytes of each request.
  unsigned depth = 0;                     ///< Requests under way at once.
  std::string engine = {};                ///< Which means it was measured with: `uring`, `aio` or `threads`.
  double bytes_per_second = 0;            ///< Transferred in the windows that count.
  double operations_per_second = 0;       ///< Requests ended in the same time.
  double latency_median = 0;              ///< Seconds from handing over to the end, of half of the requests.
  double latency_p99 = 0;                 ///< The same, of 99 % of the requests.
  bool steady = false;                    ///< Two windows in a row agreed within 5 %.
  double seconds = 0;                     ///< Time spent on this point.
};

/// How far a measurement has come.
struct MeasureProgress {
  unsigned done = 0;                       ///< Points measured.
  unsigned total = 0;                      ///< Points there will be.
  Direction direction = Direction::write;  ///< Of the point that is measured now.
  std::uint64_t block = 0;                 ///< Of that point; 0 while the file is written.
  unsigned depth = 0;                      ///< Of that point.
  double seconds = 0;                      ///< Since the beginning.
};

/// What to measure, and for how long.
struct MeasureOptions {
  std::vector<Direction> directions = {Direction::read, Direction::write};  ///< In this order.
  std::vector<std::uint64_t> blocks = {4096, 131072, 1048576};  ///< Bytes of a request, each from 512 to 64 MiB.
  std::vector<unsigned> depths = {1, 2, 4, 8, 16, 32, 64};      ///< Requests under way at once, each from 1 to 1024.
  bool sequential = false;                                      ///< Blocks one after the other; else in random order.
  /// `uring`, `aio` or `threads`; `auto`: for each direction and block the fastest of those that work here, by a short trial.
  std::string engine = "auto";
  std::optional<bool> direct = {};              ///< Bypass the page cache. Not given: where the file system can.
  std::chrono::milliseconds point_limit{1000};  ///< Longest time for one point; requests under way are waited for.
  /// Longest time for all. Points without time left are not measured, but for one of each direction, which takes 10 ms.
  std::chrono::milliseconds total_limit{60000};
  /// Bytes of the file that is transferred. 0: 256 MiB (64 MiB in memory), but at most a quarter of what is free, and no
  /// more than can be written in a quarter of `total_limit`.
  std::uint64_t file_bytes = 0;
  /// Called after each window, some ten times per `point_limit`, by the measuring thread. False: stop, and return what there is.
  std::function<bool(const MeasureProgress&)> progress = {};
};

/// What a device was measured to do: bytes and operations per second, and latency, by direction, block and depth.
struct DeviceCurve {
  Device device = {};            ///< What was measured.
  std::string engine = {};       ///< As asked for: `auto`, `uring`, `aio` or `threads`; the points say which it was.
  bool direct = false;           ///< Past the page cache; else through it, and writes end with `fdatasync`.
  bool sequential = false;       ///< Order of the blocks.
  std::uint64_t file_bytes = 0;  ///< Size of the file that was transferred.
  bool complete = false;         ///< Every point that was asked for is there.
  bool steady = false;           ///< Every point was, and the fastest ones came out alike at the end.
  std::vector<CurvePoint> points = {};  ///< In no particular order.
  std::vector<std::string> notes = {};  ///< What a reader must know, in sentences: a burst, a limit, missing points.

  /// Whether there is a point of this direction.
  bool has(Direction direction) const noexcept;
  /// Bytes per second of requests of `block` bytes, `depth` at once. Between points it is interpolated, straight in the
  /// logarithms of block, depth and bandwidth. Outside it is that of the nearest point; but below the smallest block it is
  /// the operations per second that stay the same.
  /// @throws std::out_of_range if nothing of this direction was measured; std::invalid_argument if `block` or `depth` is 0.
  double bytes_per_second(Direction direction, std::uint64_t block, unsigned depth) const;
  /// Seconds that `bytes` take at least, in requests of `block` bytes, `depth` at once; T_io of a model that bounds a program
  /// by max(T_compute / cores, T_io). Fewer requests than `depth` count as that many at once. 0 bytes take no time.
  /// @throws as `bytes_per_second`.
  double seconds(Direction direction, std::uint64_t block, unsigned depth, std::uint64_t bytes) const;

  /// As JSON text, that of `Device` included.
  std::string to_json() const;
  /// From such text. @throws std::invalid_argument saying what is wrong with it.
  static DeviceCurve from_json(std::string_view text);
  /// Writes the JSON to a file, all or nothing. @throws IoError.
  void save(const std::string& path) const;
  /// Reads a file that `save` wrote. @throws IoError; std::invalid_argument naming the file.
  static DeviceCurve load(const std::string& path);
};

/// Measures the device behind a folder, or behind the folder of a file, with a file of its own. That file has no name while it
/// is used, so that it is gone however the process ends. Engines are driven directly, without tasks, so that the curve says what
/// the device can do and not what a program makes of it.
///
/// A device that is throttled gives a burst first: each point is measured in windows until two in a row agree within 5 % or its
/// time is over, and the fastest point of each direction is measured again at the end. `steady` and `notes` tell.
/// @throws std::invalid_argument for options that make no sense; IoError when the folder cannot be written, has no room for
///         at least the largest block, or a transfer fails; std::runtime_error for an engine that does not work here, with the reason.
DeviceCurve measure(const std::string& path, const MeasureOptions& options = {});

}  // namespace dovetail
