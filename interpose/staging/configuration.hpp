// Which files of a program are staged, and on which tier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_names.hpp"

namespace dovetail::interpose::staged {

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
  bool is_empty() const noexcept { return rules_.empty(); }

 private:
  std::vector<FileRule> rules_;
};

/// That of this process, which `DOVETAIL_STAGING_CONFIGURATION` names: none, where it names none. It is read once. What is wrong with it is told, and ends the
/// process with status 2.
const Configuration& configuration();

}  // namespace dovetail::interpose::staged
