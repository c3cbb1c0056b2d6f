#include "small_files/small_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace bench {
namespace {

// What a file holds: its number, again and again.
std::vector<std::int64_t> content(std::int64_t file, std::size_t bytes) {
  return std::vector<std::int64_t>((bytes + sizeof file - 1) / sizeof file, file);
}

}  // namespace

SmallFiles::SmallFiles(CommandLine& line)
    : files_(line.size("files", 20'000, "how many")),
      bytes_(line.size("bytes", 4096, "size of each")),
      cache_(line.choice("cache", {"warm", "cold"}, "whether the page cache holds the data")) {}

void SmallFiles::make() {
  folder_ = folder_for_files() + "/dovetail-bench-" + std::to_string(files_) + "x" + std::to_string(bytes_);
  const std::filesystem::path complete = folder_ + "/complete";
  if (std::filesystem::exists(complete)) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  for (std::int64_t file = 0; file < files_; ++file) {
    const std::vector<std::int64_t> data = content(file, bytes());
    const int descriptor = open(path(file).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0 || write(descriptor, data.data(), bytes()) != bytes_ || close(descriptor) != 0) die(path(file));
  }
  // Pages that have not been written to the disk cannot be dropped.
  sync();
  std::ofstream mark(complete);
}

void SmallFiles::prepare() {
  right_.assign(static_cast<std::size_t>(files_), 0);
  if (cache_ != "cold") return;
  for (std::int64_t file = 0; file < files_; ++file) {
    const int descriptor = open(path(file).c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) != 0) die(path(file));
    close(descriptor);
  }
}

std::string SmallFiles::path(std::int64_t file) const { return folder_ + "/" + std::to_string(file); }

void SmallFiles::has_read(std::int64_t file, std::span<const std::byte> data) noexcept {
  bool right = data.size() == bytes();
  for (std::size_t at = 0; right && at + sizeof file <= data.size(); at += sizeof file) {
    right = std::memcmp(data.data() + at, &file, sizeof file) == 0;
  }
  right_[static_cast<std::size_t>(file)] = static_cast<char>(right_[static_cast<std::size_t>(file)] + (right ? 1 : 2));
}

std::string SmallFiles::what_is_wrong() const {
  const auto wrong = std::count_if(right_.begin(), right_.end(), [](char right) { return right != 1; });
  return wrong == 0 ? std::string() : std::to_string(wrong) + " files were not read once, or not right";
}

}  // namespace bench
