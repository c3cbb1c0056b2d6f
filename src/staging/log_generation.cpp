#include "staging/log_generation.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <span>
#include <utility>

#include "base/descriptor.hpp"
#include "staging/log_record.hpp"
#include "staging/tier_registration.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {
namespace {

Generation generation_of_one_process() {
  std::random_device random;
  return {.job = 0, .opening = std::uint64_t{random()} << 32 | random() | 1};
}

// Processes of one job that open the file at the same time, each on its own, take the same.
Generation next_generation(const Generation& before, std::uint64_t job) {
  const std::array numbers = {before.job, before.opening, job};
  return {.job = job, .opening = checksum_of(std::as_bytes(std::span(numbers)), 0) | 1};
}

std::vector<StagedTier> without(std::vector<StagedTier> tiers, const std::string& tier) {
  const TierName here = tier_here(tier);
  std::erase_if(tiers, [&](const StagedTier& each) { return each.tier == here; });
  return tiers;
}

bool is_of(const FinalMark& mark, std::uint64_t job) noexcept {
  return !mark.generation.is_none() && mark.generation.job == job;
}

std::vector<StagedTier> elsewhere_in(FinalMark& mark, const std::string& tier, std::uint64_t job) {
  std::vector<StagedTier> tiers = without(std::move(mark.tiers), tier);
  if (is_of(mark, job)) {
    // Its other processes have the file open.
    std::erase_if(tiers, [](const StagedTier& each) { return !each.is_closed; });
  }
  return tiers;
}

// The tiers of the generation before stay named until their logs are superseded for certain.
FileFailure put_in_force(const MarkedFile& file, const Generation& generation, const Generation& before) {
  FileFailure failure = set_generation(file, generation);
  // A machine that fails must not bring back the one before, which would refuse a log that is durable and half drained. None refuses nothing.
  const int error = failure || before.is_none() ? 0 : make_durable(file.calls, file.descriptor, false);
  if (error != 0) {
    failure = {.error = error, .operation = "fsync", .path = file.path};
  }
  return failure ? failure : remove_old_tiers(file, before);
}

FileFailure superseded(const std::string& folder, const std::string& path) {
  return {.error = ESTALE,
          .operation = "drain",
          .path = folder,
          .why = "others have opened " + path + " for writing since",
          .remedy = remedy_of_superseded};
}

SettledGeneration begin(const MarkedFile& file, FinalMark mark, const LogFolder& folder, Placement& placement,
                        bool& is_placed, const std::optional<Generation>& given) {
  SettledGeneration settled;
  Generation& own = placement.generation;
  const Generation next = given ? *given : mark.is_supported ? generation_of_one_process() : Generation{};
  if (!is_placed || own != next) {
    own = next;
    settled.failure = write_placement(file.calls, folder, placement);
    is_placed = !settled.failure;
  }
  if (!settled.failure) {
    settled.failure = register_log(file, own, folder.path);
  }
  if (!settled.failure && !given && !own.is_none()) {
    settled.elsewhere = without(std::move(mark.tiers), tier_of_log(folder.path));
    settled.failure = put_in_force(file, own, mark.generation);
  }
  return settled;
}

// What the log holds takes the place of what is newer.
SettledGeneration begin_over_newer(const MarkedFile& file, const FinalMark& mark, OpenedLog& log) {
  Generation& own = log.placement.generation;
  SettledGeneration settled;
  settled.elsewhere = mark.tiers;  // also this one: it may have a newer log of the file
  // A log of a version that knew of no generation gets one.
  if (own.is_none()) {
    own = generation_of_one_process();
    settled.failure = write_placement(file.calls, log.folder, log.placement);
  }
  if (!settled.failure) {
    settled.failure = register_log(file, own, log.folder.path);
  }
  if (!settled.failure) {
    settled.failure = put_in_force(file, own, mark.generation);
  }
  return settled;
}

}  // namespace

TakenGeneration take_generation(const std::string& final_path, const std::string& tier, std::uint64_t job,
                                FileCalls& calls) {
  TakenGeneration taken;
  const base::Descriptor file(::open(final_path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    taken.failure = {.error = errno, .operation = "open", .path = final_path};
    return taken;
  }
  const MarkedFile marked{.calls = calls, .descriptor = file.get(), .path = final_path};
  FinalMark mark = read_mark(marked);
  if (mark.failure || !mark.is_supported) {
    taken.failure = std::move(mark.failure);
    return taken;
  }
  taken.elsewhere = elsewhere_in(mark, tier, job);
  if (is_of(mark, job)) {
    taken.generation = mark.generation;
    return taken;
  }
  taken.generation = next_generation(mark.generation, job);
  taken.failure = put_in_force(marked, taken.generation, mark.generation);
  return taken;
}

std::vector<StagedTier> staged_elsewhere(const std::string& final_path, const std::string& tier, std::uint64_t job,
                                         FileCalls& calls) {
  const base::Descriptor file = open_to_read_marks(final_path);
  if (file.get() < 0) {
    return {};
  }
  FinalMark mark = read_mark({.calls = calls, .descriptor = file.get(), .path = final_path});
  return elsewhere_in(mark, tier, job);
}

std::vector<StagedTier> staged_elsewhere(const MarkedFile& file, const std::string& tier) {
  return without(read_mark(file).tiers, tier);
}

FileFailure supersede_logs(const MarkedFile& file) {
  const FinalMark mark = read_generation(file);
  return mark.failure ? mark.failure : put_in_force(file, generation_of_one_process(), mark.generation);
}

SettledGeneration refuse_superseded(const MarkedFile& file, const OpenedLog& log) {
  SettledGeneration settled;
  FinalMark mark = read_generation(file);
  settled.failure = std::move(mark.failure);
  if (!settled.failure && mark.supersedes(log.placement.generation) && !is_drained(file.calls, log)) {
    settled.failure = superseded(log.folder.path, file.path);
    settled.is_superseded = true;
  }
  return settled;
}

SettledGeneration settle_generation(const MarkedFile& file, OpenedLog& log, const WantedGeneration& wanted) {
  SettledGeneration settled;
  FinalMark mark = read_mark(file);
  settled.failure = std::move(mark.failure);
  if (settled.failure) {
    return settled;
  }
  Generation& own = log.placement.generation;
  const std::string& folder = log.folder.path;
  const bool has_changes = log.has_changes();
  const bool is_superseded = mark.supersedes(own);
  if (has_changes && is_superseded) {
    if (wanted.over_newer) {
      return begin_over_newer(file, mark, log);
    }
    settled.failure = superseded(folder, file.path);
    settled.is_superseded = true;
    return settled;
  }
  if (has_changes || (wanted.reads_only && !wanted.only_what_is_left)) {
    settled.elsewhere = without(std::move(mark.tiers), tier_of_log(folder));
    return settled;
  }
  if (wanted.only_what_is_left) {
    own = is_superseded ? mark.generation : own;  // nothing of it comes over what is newer: it is removed as any other
    return settled;
  }
  return begin(file, std::move(mark), log.folder, log.placement, log.is_placed, wanted.given);
}

SettledGeneration begin_generation(const MarkedFile& file, const LogFolder& folder, Placement& placement,
                                   bool& is_placed, const std::optional<Generation>& given) {
  FinalMark mark = read_mark(file);
  if (mark.failure) {
    return {.is_superseded = false, .elsewhere = {}, .failure = std::move(mark.failure)};
  }
  return begin(file, std::move(mark), folder, placement, is_placed, given);
}

FileFailure objection_to_generation(const MarkedFile& file, const Generation& log, const std::string& folder) {
  FinalMark mark = read_generation(file);
  if (mark.failure || !mark.supersedes(log)) {
    return std::move(mark.failure);
  }
  return superseded(folder, file.path);
}

}  // namespace dovetail::staging
