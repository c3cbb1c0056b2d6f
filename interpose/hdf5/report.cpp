#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace dovetail::hdf5 {
namespace {

constexpr std::array<const char*, causes> cause_names{"space in the buffer (DOVETAIL_HDF5_BUFFER)",
                                                      "room on the file system",
                                                      "bytes being read ahead",
                                                      "flushes (--flush=background would save it)",
                                                      "flushes of a single writer beside readers",
                                                      "calls that tell where in the file something is",
                                                      "closing files",
                                                      "cutting files",
                                                      "event sets and tests",
                                                      "chunks being compressed",
                                                      "fork",
                                                      "the end of the program"};

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }
double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

void Report::print() const {
  const std::uint64_t all = std::accumulate(waited.begin(), waited.end(), std::uint64_t{0});
  const std::uint64_t work = transfer_time + compression_time;
  const double hidden = work == 0 ? 0 : std::max(0.0, 1 - static_cast<double>(all) / static_cast<double>(work));
  std::fprintf(stderr,
               "dovetail hdf5: transfers in the background took %.3f s, of which the program waited for %.3f s"
               " (hidden: %.1f %%)\n",
               seconds(work), seconds(all), 100 * hidden);
  for (std::size_t cause = 0; cause < causes; ++cause) {
    if (waited[cause] != 0) {
      std::fprintf(stderr, "dovetail hdf5:   waited %.3f s for %s\n", seconds(waited[cause]), cause_names[cause]);
    }
  }
  std::fprintf(stderr, "dovetail hdf5: %llu writes: %.1f MiB copied, %.1f MiB written from the program's own memory\n",
               static_cast<unsigned long long>(writes), mebibytes(bytes_copied), mebibytes(bytes_promised));
  std::fprintf(
      stderr,
      "dovetail hdf5: reads: %.1f MiB from what was still to be written, %.1f MiB fetched before they were asked for"
      " (%.1f MiB of it used)\n",
      mebibytes(bytes_from_pending), mebibytes(bytes_fetched), mebibytes(bytes_read_ahead));
  if (chunks_compressed + chunks_compressed_by_program != 0) {
    std::fprintf(stderr,
                 "dovetail hdf5: %llu chunks compressed in the background, which took %.3f s of the above; %llu by the"
                 " program's own threads\n",
                 static_cast<unsigned long long>(chunks_compressed), seconds(compression_time),
                 static_cast<unsigned long long>(chunks_compressed_by_program));
  }
  for (const auto& [reason, count] : foreground) {
    std::fprintf(stderr, "dovetail hdf5: %llu transfers in the foreground: %s\n",
                 static_cast<unsigned long long>(count), reason.c_str());
  }
}

}  // namespace dovetail::hdf5
