#include "report.hpp"

#include <mpi.h>

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "counts.hpp"
#include "rank_program/output_file.hpp"

namespace refinement {
namespace {

// Each step is a bijection of the hash, and of the word.
std::uint64_t add(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 32U;
}

std::uint64_t add(std::uint64_t hash, std::span<const double> values) noexcept {
  for (const double value : values) {
    hash = add(hash, std::bit_cast<std::uint64_t>(value));
  }
  return hash;
}

}  // namespace

std::uint64_t checksum_of(const Options& options, Outcome& outcome, int rank, int ranks) {
  const Shares shares(outcome.tree.size(), ranks);
  std::vector<std::uint64_t> all(outcome.tree.size());
  const Counts counts(outcome.tree.size(), ranks, 1);
  for (std::size_t block = 0; block < outcome.field->blocks(); ++block) {
    const std::size_t place = shares.first(rank) + block;
    all[place] = add(add(0, outcome.tree.cube(place).code()), outcome.field->before(options.stages, block));
  }
  const std::vector<std::uint64_t> own(all.begin() + static_cast<std::ptrdiff_t>(shares.first(rank)),
                                       all.begin() + static_cast<std::ptrdiff_t>(shares.first(rank + 1)));
  MPI_Gatherv(own.data(), static_cast<int>(own.size()), MPI_UINT64_T, all.data(), counts.counts.data(),
              counts.begins.data(), MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank != 0) {
    return 0;
  }
  std::uint64_t hash = add(0, outcome.sums);
  for (const std::uint64_t block : all) {
    hash = add(hash, block);
  }
  return hash;
}

void write_output(const Options& options, Outcome& outcome, int rank, int ranks) {
  const std::size_t variables = options.shape.variables;
  const std::size_t sums = static_cast<std::size_t>(options.refinements + 1) * variables;
  const std::size_t each = (1 + options.shape.values()) * sizeof(double);
  const std::size_t first = Shares(outcome.tree.size(), ranks).first(rank);
  rank_program::OutputFile file(options.output);
  if (rank == 0) {
    file.write(std::as_bytes(std::span(outcome.sums)), 0);
  }
  for (std::size_t block = 0; block < outcome.field->blocks(); ++block) {
    const std::uint64_t code = outcome.tree.cube(first + block).code();
    const std::size_t offset = sums * sizeof(double) + (first + block) * each;
    file.write(std::as_bytes(std::span(&code, 1)), offset);
    file.write(std::as_bytes(outcome.field->before(options.stages, block)), offset + sizeof(code));
  }
  file.close();
}

void print(const Options& options, const Result& result) {
  std::vector<double> ns;
  std::vector<double> between;  // without the refinement
  for (std::size_t i = 0; i < result.seconds.size(); ++i) {
    ns.push_back(result.seconds[i] * 1e9 / static_cast<double>(result.updates));
    between.push_back(result.seconds[i] - result.refining_seconds[i]);
  }
  char checksum[17];
  std::snprintf(checksum, sizeof(checksum), "%016" PRIx64, result.checksum);
  if (options.json) {
    const nlohmann::ordered_json report = {{"benchmark", "refinement"},
                                           {"contender", options.variant},
                                           {"parameters",
                                            {{"ranks", result.ranks},
                                             {"workers", result.workers},
                                             {"edge", options.shape.edge},
                                             {"variables", options.shape.variables},
                                             {"coarsest", options.coarsest},
                                             {"finest", options.finest},
                                             {"radius", options.radius},
                                             {"refinements", options.refinements},
                                             {"stages", options.stages}}},
                                           {"correct", true},
                                           {"wrong", ""},
                                           {"checksum", checksum},
                                           {"blocks", result.blocks},
                                           {"updates", result.updates},
                                           {"moved", result.moved},
                                           {"metrics",
                                            {{"ns", ns},
                                             {"seconds", result.seconds},
                                             {"refining_seconds", result.refining_seconds},
                                             {"between_seconds", between}}}};
    std::printf("%s\n", report.dump().c_str());
    return;
  }
  std::vector<double> sorted = result.seconds;
  std::sort(sorted.begin(), sorted.end());
  std::printf("%s: %d ranks, %d threads each: %" PRIu64 " updates of blocks in %.3f s, %" PRIu64
              " pieces moved, %" PRIu64 " blocks at the end, checksum %s\n",
              options.variant.c_str(), result.ranks, result.workers, result.updates, sorted[sorted.size() / 2],
              result.moved, result.blocks, checksum);
}

}  // namespace refinement
