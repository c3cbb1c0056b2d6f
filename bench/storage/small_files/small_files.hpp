// The problem: many small files, each of which is opened, read whole and closed. An operation is a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

class SmallFiles {
 public:
  explicit SmallFiles(CommandLine& line);
  /// Makes the files, unless an earlier launch has: making them takes longer than reading them. Ends the program with 2 where that is not
  /// possible.
  void make();
  /// Before each run: the data is in the page cache, or not, as `--cache` says.
  void prepare();

  std::int64_t files() const noexcept { return files_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(bytes_); }
  std::string path(std::int64_t file) const;
  /// Notes what a file was found to hold. Thread-safe for different files.
  void has_read(std::int64_t file, std::span<const std::byte> data) noexcept;
  /// After each run: each file must have been read once, right.
  std::string what_is_wrong() const;

 private:
  const std::int64_t& files_;
  const std::int64_t& bytes_;
  const std::string& cache_;
  std::string folder_;
  std::vector<char> right_;
};

}  // namespace bench
