// What to measure of a device, and for how long.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/direction.hpp"

namespace dovetail::device {

inline constexpr std::uint64_t mebibyte = 1 << 20;

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
  bool past_the_best = true;  ///< Also deeper queues than one that gave less than three quarters of a shallower one.
  bool sequential = false;    ///< Blocks one after the other; else in random order.
  /// `uring`, `aio` or `threads`; `auto`: for each direction and block the fastest of those that work here, by a short trial.
  std::string engine = "auto";
  std::optional<bool> direct = {};              ///< Bypass the page cache. Not given: where the file system can.
  std::chrono::milliseconds point_limit{1000};  ///< Longest time for one point; requests under way are waited for.
  /// Longest time for all. Points without time left are not measured, but for one of each direction, which takes 10 ms.
  std::chrono::milliseconds total_limit{60000};
  /// Bytes of the file that is transferred. 0: 256 MiB (64 MiB in memory). It is then at most a quarter of the free space, and
  /// what can be written in a quarter of `total_limit`.
  std::uint64_t file_bytes = 0;
  /// Called after each window, some ten times per `point_limit`, by the measuring thread. False: stop, and return what there is.
  std::function<bool(const MeasureProgress&)> progress = {};
};

}  // namespace dovetail::device
