// Which files of a program are staged, and on which tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_names.hpp"
#include "staging/tier_settings.hpp"

namespace dovetail::interpose::staged {

/// How names begin and end that match a pattern: most files are told apart without comparing them with it.
class LiteralEnds {
 public:
  explicit LiteralEnds(std::string_view pattern);
  bool may_match_last(std::string_view name) const noexcept {
    return name.starts_with(first_) && name.ends_with(last_);
  }
  bool may_match(std::string_view path) const noexcept;

 private:
  std::string path_;   // how the path begins
  std::string first_;  // how its last name begins
  std::string last_;
};

struct FileRule {
  base::FileNames names;
  std::string tier;  ///< A folder: absolute, without symbolic links.
  /// A smaller file is written as without a tier: a log costs more than it brings.
  std::uint64_t from_bytes = std::uint64_t{1} << 20;
};

class Configuration {
 public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;

  Configuration() = default;
  /// `usual_tier`: of groups that name none; may be empty. @throws std::invalid_argument says what is wrong and where; std::bad_alloc
  Configuration(std::string_view text, const std::string& usual_tier);

  /// The first that matches; null if none does, or the file is in one of the tiers. @param path absolute, without symbolic links
  const FileRule* rule_for(const std::string& path) const;
  /// False: no file with the last name of this path is in any group. Of a symbolic link that says nothing. Any thread.
  bool may_name(std::string_view path) const noexcept;
  bool is_empty() const noexcept { return rules_.empty(); }

 private:
  std::vector<FileRule> rules_;
  std::vector<LiteralEnds> ends_;  // of all patterns
};

/// That of this process, which `DOVETAIL_STAGING_CONFIGURATION` names: none, where it names none. It is read once. What is wrong with it is told, and ends the
/// process with status 2.
const Configuration& configuration();

/// Budget and rate of the drains of this process, from the environment. As above. Asked for where something is staged or recovered.
const dovetail::staging::TierSettings& tier_settings();

}  // namespace dovetail::interpose::staged
