#include "test_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "descriptor.hpp"
#include "dovetail/failure.hpp"

namespace dovetail::tiom {
namespace {

constexpr std::uint64_t page_mark = 0x6d6f69742d746476;  // "vdt-tiom" in memory

std::uint64_t word_at(std::uint64_t offset, Content content) noexcept {
  if (offset % page_bytes == 0) {
    return page_mark;
  }
  const std::uint64_t salt = content == Content::written ? 0x9e3779b97f4a7c15 : 0;
  std::uint64_t value = (offset + 1) * 0xbf58476d1ce4e5b9 + salt;
  value ^= value >> 31;
  return value * 0x94d049bb133111eb;
}

bool made_by_us(const Descriptor& file) {
  std::uint64_t first = 0;
  return ::pread(file.number(), &first, sizeof(first), 0) == static_cast<ssize_t>(sizeof(first)) && first == page_mark;
}

/// A file whose every page an earlier run has written: its last page is ours, and nothing is a hole.
bool is_complete(const Descriptor& file, std::uint64_t size) {
  struct stat status = {};
  std::uint64_t last = 0;
  return fstat(file.number(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) == size &&
         ::pread(file.number(), &last, sizeof(last), static_cast<off_t>(size - page_bytes)) ==
             static_cast<ssize_t>(sizeof(last)) &&
         last == page_mark && static_cast<std::uint64_t>(status.st_blocks) * 512 >= size;
}

void write_all(const Descriptor& file, const Settings& settings) {
  std::vector<std::byte> piece(std::min<std::uint64_t>(settings.size, 4ULL << 20));
  for (std::uint64_t offset = 0; offset < settings.size; offset += piece.size()) {
    const auto part = std::span(piece).first(std::min<std::uint64_t>(piece.size(), settings.size - offset));
    fill(part, offset, Content::prepared);
    transfer_all(file.number(), part, offset, false, settings.file);
  }
  if (ftruncate(file.number(), static_cast<off_t>(settings.size)) != 0 || ::fdatasync(file.number()) != 0) {
    throw IoError(errno, "fdatasync", settings.file, 0, settings.size);
  }
}

}  // namespace

void fill(std::span<std::byte> data, std::uint64_t offset, Content content) noexcept {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at(offset + at, content);
    std::memcpy(data.data() + at, &word, sizeof(word));
  }
}

bool holds(std::span<const std::byte> data, std::uint64_t offset, Content content) noexcept {
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= data.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_at(offset + at, content);
    if (std::memcmp(data.data() + at, &word, sizeof(word)) != 0) {
      return false;
    }
  }
  return true;
}

void prepare_file(const Settings& settings) {
  const Descriptor file(settings.file, O_RDWR | O_CREAT);
  struct stat status = {};
  if (fstat(file.number(), &status) != 0) {
    throw IoError(errno, "fstat", settings.file, 0, 0);
  }
  if (!S_ISREG(status.st_mode)) {
    throw std::invalid_argument("'" + settings.file + "' is not a regular file: name a file on the device to measure");
  }
  const bool ours = status.st_size == 0 || made_by_us(file);
  if (!ours && !settings.overwrite) {
    throw std::invalid_argument(
        "'" + settings.file +
        "' holds something that dovetail-tiom did not write: name another file, or say --overwrite");
  }
  if (settings.verify || !ours || !is_complete(file, settings.size)) {
    write_all(file, settings);
  }
}

std::uint64_t count_wrong_blocks(const Settings& settings, std::uint64_t block, const std::vector<bool>& written) {
  const Descriptor file(settings.file, O_RDONLY);
  std::vector<std::byte> data(block);
  std::uint64_t wrong = 0;
  for (std::uint64_t index = 0; index < written.size(); ++index) {
    const std::uint64_t offset = index * block;
    transfer_all(file.number(), data, offset, true, settings.file);
    wrong += holds(data, offset, written[index] ? Content::written : Content::prepared) ? 0 : 1;
  }
  return wrong;
}

void drop_cache(int descriptor) noexcept {
  if (::fdatasync(descriptor) == 0) {
    static_cast<void>(posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED));
  }
}

}  // namespace dovetail::tiom
