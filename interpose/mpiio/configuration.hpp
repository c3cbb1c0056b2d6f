// Hints for files of programs that give none themselves: what MPIWRAP of G. Congiu's thesis is for (section 4.3.5).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_names.hpp"
#include "hints.hpp"

namespace dovetail::interpose::mpiio {

/// What holds for a group of files.
struct FileRule {
  base::FileNames names;
  GivenHints hints;  ///< In place of the program's own hints of these names.
  bool deferred_close = false;
};

class Configuration {
 public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;

  Configuration() = default;
  /// @throws std::invalid_argument says what is wrong and where; std::bad_alloc
  explicit Configuration(std::string_view text);

  /// The first that matches; null if none does. @param path absolute
  const FileRule* rule_for(const std::string& path) const;
  const std::vector<FileRule>& rules() const noexcept { return rules_; }

 private:
  std::vector<FileRule> rules_;
};

}  // namespace dovetail::interpose::mpiio
