// A final file, and two tiers of one node: to the file they are what tiers of two nodes are.
#pragma once

#include <sys/xattr.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "staging/final_mark.hpp"
#include "staging/log_generation.hpp"
#include "staging/tier_support.hpp"

namespace dovetail::staging {

inline const Bytes older(1000, std::byte{1});
inline const Bytes newer(500, std::byte{2});

class TierGenerationTest : public TierTest {
 protected:
  TierGenerationTest() {
    std::filesystem::create_directory(other_tier);
    tier = std::filesystem::canonical(tier);
    other_tier = std::filesystem::canonical(other_tier);
    other_log = folder_of(other_tier, final_path).folder;
  }
  void SetUp() override {
    if (::setxattr(final_path.c_str(), "user.dovetail.test", "", 0, 0) != 0 && errno == EOPNOTSUPP) {
      GTEST_SKIP() << "temporary files have no attributes of users here";
    }
  }
  TieredFile::Opened open_other() const { return TieredFile::open(other_log, final_path, settings); }
  FinalMark mark() {
    const base::Descriptor file(::open(final_path.c_str(), O_RDONLY | O_CLOEXEC));
    return read_mark({.calls = FileCalls::system(), .descriptor = file.get(), .path = final_path});
  }
  std::vector<TierName> named() {
    std::vector<TierName> tiers;
    for (const StagedTier& each : mark().tiers) {
      tiers.push_back(each.tier);
    }
    return tiers;
  }

  std::string other_tier = std::filesystem::absolute(folder / "other");
  std::string other_log;
};

}  // namespace dovetail::staging
