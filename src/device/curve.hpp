// What a device was measured to do: bytes and operations per second, and latency, by direction, block and depth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/direction.hpp"
#include "device/facts.hpp"

namespace dovetail::device {

/// One point of a curve.
struct CurvePoint {
  Direction direction = Direction::read;
  std::uint64_t block = 0;           ///< Bytes of each request.
  unsigned depth = 0;                ///< Requests under way at once.
  std::string engine = {};           ///< Which means it was measured with: `uring`, `aio` or `threads`.
  double bytes_per_second = 0;       ///< Transferred in the windows that count.
  double operations_per_second = 0;  ///< Requests ended in the same time.
  double latency_median = 0;         ///< Seconds from handing over to the end, of half of the requests.
  double latency_p99 = 0;            ///< The same, of 99 % of the requests.
  bool steady = false;               ///< Two windows in a row agreed within 5 %.
  double seconds = 0;                ///< Time spent on this point.
};

struct Curve {
  Facts device = {};             ///< What was measured.
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
  /// Seconds that `bytes` take at least, in requests of `block` bytes, `depth` at once. Fewer requests than `depth` count as that many
  /// at once. 0 bytes take no time. @throws as `bytes_per_second`.
  double seconds(Direction direction, std::uint64_t block, unsigned depth, std::uint64_t bytes) const;
  /// The least depth with nearly all of the bandwidth, of the largest block that was measured. Nothing without such points.
  std::optional<CurvePoint> knee(Direction direction) const;

  /// As JSON text, that of the facts included.
  std::string to_json() const;
  /// From such text. @throws std::invalid_argument saying what is wrong with it.
  static Curve from_json(std::string_view text);
  /// Writes the JSON to a file, all or nothing. @throws std::system_error.
  void save(const std::string& path) const;
  /// Reads a file that `save` wrote. @throws std::system_error; std::invalid_argument naming the file.
  static Curve load(const std::string& path);
};

}  // namespace dovetail::device
