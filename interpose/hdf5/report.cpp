#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace dovetail::hdf5 {
namespace {

constexpr std::array<const char*, causes> cause_names{"flushes (--flush=background would save it)",
                                                      "flushes of a single writer beside readers",
                                                      "calls that tell where in the file something is",
                                                      "closing files (--close=background would save it)",
                                                      "cutting files",
                                                      "event sets and tests",
                                                      "the end of the program"};

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }
double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

void Report::print(base::Overlap::Times overlap, const staging::Statistics& staged,
                   const prefetching::Statistics& ahead, const compression::Statistics& compressed) const {
  constexpr std::size_t other_waits = 6;
  std::array<std::pair<const char*, std::uint64_t>, causes + other_waits> waits{
      {{"space in the buffer (DOVETAIL_HDF5_BUFFER)", staged.waited_for_space},
       {"room on the file system", staged.waited_for_room},
       {"transfers of the same bytes", staged.waited_for_transfers},
       {"bytes being read ahead", ahead.waited},
       {"chunks being compressed", compressed.waited},
       {"fork", staged.waited_before_forks}}};
  for (std::size_t cause = 0; cause < causes; ++cause) {
    waits[other_waits + cause] = {cause_names[cause], waited[cause]};
  }
  const double under_way = seconds(overlap.under_way);
  const double waited_for = seconds(overlap.waited);
  std::fprintf(stderr,
               "dovetail hdf5: transfers in the background took %.3f s, of which the program waited for %.3f s"
               " (hidden: %.1f %%)\n",
               under_way, waited_for, under_way == 0 ? 0 : 100 * (1 - waited_for / under_way));
  for (const auto& [name, time] : waits) {
    if (time != 0) {
      std::fprintf(stderr, "dovetail hdf5:   waited %.3f s for %s\n", seconds(time), name);
    }
  }
  std::fprintf(stderr, "dovetail hdf5: %llu writes: %.1f MiB copied, %.1f MiB written from the program's own memory\n",
               static_cast<unsigned long long>(staged.writes), mebibytes(staged.bytes_copied),
               mebibytes(staged.bytes_kept));
  std::fprintf(
      stderr,
      "dovetail hdf5: reads: %.1f MiB from what was still to be written, %.1f MiB fetched before they were asked for"
      " (%.1f MiB of it used)\n",
      mebibytes(staged.bytes_from_pending), mebibytes(ahead.bytes_fetched), mebibytes(ahead.bytes_used));
  if (compressed.chunks_by_tasks + compressed.chunks_by_program != 0) {
    std::fprintf(stderr,
                 "dovetail hdf5: %llu chunks compressed in the background, which took %.3f s of the above; %llu by the"
                 " program's own threads\n",
                 static_cast<unsigned long long>(compressed.chunks_by_tasks), seconds(compressed.time),
                 static_cast<unsigned long long>(compressed.chunks_by_program));
  }
  for (const auto& [reason, count] : staged.foreground) {
    std::fprintf(stderr, "dovetail hdf5: %llu transfers in the foreground: %s\n",
                 static_cast<unsigned long long>(count), reason.c_str());
  }
}

}  // namespace dovetail::hdf5
