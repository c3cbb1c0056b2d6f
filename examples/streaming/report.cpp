#include "report.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace streaming {

void print(const Options& options, const Result& result) {
  const double blocks = static_cast<double>(options.chunks) * options.blocks;
  const double megabytes = blocks * static_cast<double>(options.block_bytes) / 1e6;
  std::vector<double> ns;
  std::vector<double> rates;
  for (const double seconds : result.seconds) {
    ns.push_back(seconds * 1e9 / blocks);
    rates.push_back(megabytes / seconds);
  }
  char checksum[17];
  std::snprintf(checksum, sizeof(checksum), "%016" PRIx64, result.checksum);
  if (options.json) {
    const nlohmann::ordered_json report = {{"benchmark", "streaming"},
                                           {"contender", options.variant},
                                           {"parameters",
                                            {{"ranks", result.ranks},
                                             {"stages", result.stages},
                                             {"workers", result.workers},
                                             {"chunks", options.chunks},
                                             {"blocks", options.blocks},
                                             {"block_bytes", options.block_bytes},
                                             {"work", options.work}}},
                                           {"correct", result.wrong.empty()},
                                           {"wrong", result.wrong},
                                           {"checksum", checksum},
                                           {"metrics", {{"ns", ns}, {"seconds", result.seconds}, {"mb_s", rates}}}};
    std::printf("%s\n", report.dump().c_str());
  } else {
    std::vector<double> sorted = rates;
    std::sort(sorted.begin(), sorted.end());
    std::printf(
        "%s: %d ranks, %d stages, %d threads each: %d chunks of %d blocks of %zu bytes, %.0f MB/s, checksum %s\n",
        options.variant.c_str(), result.ranks, result.stages, result.workers, options.chunks, options.blocks,
        options.block_bytes, sorted[sorted.size() / 2], checksum);
  }
  if (!result.wrong.empty()) {
    std::fprintf(stderr, "streaming: %s\n", result.wrong.c_str());
  }
}

}  // namespace streaming
