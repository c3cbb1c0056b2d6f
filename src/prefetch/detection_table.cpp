#include "prefetch/detection_table.hpp"

#include <algorithm>

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t most_places = 1U << 16;
// Places at which a file may be.
constexpr std::uint32_t probes = 16;
// What each file may ask for, whatever others have asked for.
constexpr std::uint64_t least_room = 1U << 20;
// Reads of other files after which what a file has asked for does not count any more: it was closed, say.
constexpr std::uint64_t old = 1024;

}  // namespace

DetectionTable DetectionTable::in(std::byte* memory, std::uint64_t bytes) noexcept {
  DetectionTable table;
  if (memory == nullptr || bytes < sizeof(Header)) {
    return table;
  }
  auto* header = reinterpret_cast<Header*>(memory);
  const std::uint64_t files = header->files;
  if (header->magic != magic || header->bytes != bytes || files > most_places ||
      sizeof(Header) + files * sizeof(DetectedFile) != bytes) {
    return table;
  }
  table.header_ = header;
  table.table_ = reinterpret_cast<DetectedFile*>(memory + sizeof(Header));
  table.files_ = static_cast<std::uint32_t>(files);
  table.window_ = header->window;
  table.named_ = header->named != 0;
  return table;
}

DetectionTable::Device DetectionTable::device_of(std::uint64_t number) const noexcept {
  const std::uint64_t count = std::min<std::uint64_t>(header_->devices, most_devices);
  for (std::uint64_t place = 0; place < count; ++place) {
    if (header_->device[place].number == number) {
      return header_->device[place];
    }
  }
  return {number, 128U << 10, 256U << 10};  // mounted since, say
}

std::uint32_t DetectionTable::find(const FileIdentity& identity, bool& made) noexcept {
  made = false;
  if (files_ == 0 || identity.size < smallest_file) {
    return files_;
  }
  const std::uint64_t hash = (identity.inode * 0x9E3779B97F4A7C15 + identity.device) >> 20;
  const std::uint64_t modified = identity.seconds * 1'000'000'000 + identity.nanoseconds;
  for (std::uint32_t probe = 0; probe < probes; ++probe) {
    const auto number = static_cast<std::uint32_t>((hash + probe) % files_);
    DetectedFile& file = table_[number];
    std::uint32_t state = file.state.load(std::memory_order_acquire);
    if (state == DetectedFile::unused) {
      const Device device = device_of(identity.device);
      if (device.piece == 0) {
        return files_;
      }
      if (!file.state.compare_exchange_strong(state, DetectedFile::being_made, std::memory_order_acquire)) {
        return files_;  // another process is faster; the next look finds what it has made
      }
      file.device = identity.device;
      file.inode = identity.inode;
      file.size.store(identity.size, std::memory_order_relaxed);
      file.modified.store(modified, std::memory_order_relaxed);
      file.piece = device.piece;
      file.gap = device.gap;
      file.state.store(DetectedFile::ready, std::memory_order_release);
      made = true;
      return number;
    }
    if (state == DetectedFile::being_made) {
      return files_;  // it may be this file's: the next look knows
    }
    if (state == DetectedFile::ready && file.device == identity.device && file.inode == identity.inode) {
      const bool same_size = file.size.exchange(identity.size, std::memory_order_relaxed) == identity.size;
      if (file.modified.exchange(modified, std::memory_order_relaxed) != modified || !same_size) {
        file.given_up.store(not_given_up, std::memory_order_relaxed);
        file.detector.forget();
      }
      return number;
    }
  }
  return files_;
}

Detector::Limits DetectionTable::limits(const DetectedFile& file) const noexcept {
  const std::uint64_t own = file.outstanding.load(std::memory_order_relaxed);
  std::uint64_t all = header_->outstanding.load(std::memory_order_relaxed);
  if (all > window_ / 2 && all - std::min(all, own) > window_ / 2) {
    release_old();
    all = header_->outstanding.load(std::memory_order_relaxed);
  }
  const std::uint64_t others = all - std::min(all, own);
  return {file.size.load(std::memory_order_relaxed), std::max(window_ - std::min(window_, others), least_room),
          file.gap};
}

void DetectionTable::settle(DetectedFile& file) const noexcept {
  const std::uint64_t now = file.detector.outstanding();
  if (now != file.outstanding.load(std::memory_order_relaxed)) {
    const std::uint64_t before = file.outstanding.exchange(now, std::memory_order_relaxed);
    header_->outstanding.fetch_add(now - before, std::memory_order_relaxed);
  } else if (now == 0) {
    return;
  }
  file.turn.store(header_->turns.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
}

void DetectionTable::release_old() const noexcept {
  const std::uint64_t now = header_->turns.load(std::memory_order_relaxed);
  if (now - header_->released.load(std::memory_order_relaxed) < old) {
    return;
  }
  header_->released.store(now, std::memory_order_relaxed);
  for (std::uint32_t number = 0; number < files_; ++number) {
    DetectedFile& file = table_[number];
    if (file.outstanding.load(std::memory_order_relaxed) != 0 &&
        now - file.turn.load(std::memory_order_relaxed) > old) {
      header_->outstanding.fetch_sub(file.outstanding.exchange(0, std::memory_order_relaxed),
                                     std::memory_order_relaxed);
    }
  }
}

}  // namespace dovetail::prefetching
